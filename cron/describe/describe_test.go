package describe_test

import (
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/axsched/ax/cron"
	"github.com/axsched/ax/cron/describe"
)

func TestSentences(t *testing.T) {
	for _, c := range []struct{ expr, en, zh string }{
		{"30 2 * * MON-FRI", "At 02:30, Monday to Friday", "周一至周五 02:30"},
		{"CRON_TZ=Europe/Berlin 0 9,18 * * *", "At 09:00 and 18:00, every day (Europe/Berlin)", "每天 09:00和18:00（Europe/Berlin）"},
		{"* * * * *", "Every minute", "每分钟"},
		{"*/5 * * * *", "Every 5 minutes", "每 5 分钟"},
		{"*/5 9-17 * * 1-5", "Every 5 minutes, in hour 9 to 17, Monday to Friday", "周一至周五 每 5 分钟，9至17 点"},
		{"0 */2 * * *", "At minute 0, every 2 hours", "第 0 分，每 2 小时"},
		{"0 0 13 * 5", "At 00:00, day 13 of the month or Friday", "每月 13 日或周五 00:00"},
		{"0 0 */2 * 1", "At 00:00, day 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29 and 31 of the month, Monday",
			"每月 1、3、5、7、9、11、13、15、17、19、21、23、25、27、29和31 日，周一 00:00"},
		{"0 0 1 NOV-FEB *", "At 00:00, day 1 of the month, in January, February, November and December", "1 月、2 月、11 月和12 月 每月 1 日 00:00"},
		{"0 0 31 2 *", "Never", "永不触发"},
		{"@every 90s", "Every 1m30s", "每 1m30s"},
		{"0 0 * * SAT-SUN", "At 00:00, Saturday and Sunday", "周六和周日 00:00"},
		{"s */10 * * * * *", "Every 10 seconds", "每 10 秒"},
		{"s 15 30 2 * * *", "At 02:30:15, every day", "每天 02:30:15"},
		{"q 0 0 12 L * ?", "At 12:00, the last day of the month", "每月最后一天 12:00"},
		{"q 0 0 12 LW * ?", "At 12:00, the last day from Monday to Friday of the month", "每月最后一个工作日（周一至周五） 12:00"},
		{"q 0 0 12 L-3 * ?", "At 12:00, 3 days before the last of the month", "每月最后一天之前 3 天 12:00"},
		{"q 0 0 12 15W * ?", "At 12:00, the day from Monday to Friday nearest to day 15 of the month", "每月离 15 日最近的工作日（周一至周五） 12:00"},
		{"q 0 0 12 ? * 6L", "At 12:00, the last Friday of the month", "每月最后一个周五 12:00"},
		{"q 0 0 12 ? * FRI#3 2030-2032", "At 12:00, the third Friday of the month, in 2030, 2031 and 2032", "2030、2031和2032 年 每月第 3 个周五 12:00"},
	} {
		o := cron.Options{}
		expr := c.expr
		if text, is := strings.CutPrefix(expr, "s "); is {
			expr, o.Dialect = text, cron.Seconds
		} else if text, is := strings.CutPrefix(expr, "q "); is {
			expr, o.Dialect = text, cron.Quartz
		}
		s, err := cron.Parse(expr, o)
		if err != nil {
			t.Errorf("%s: %v", expr, err)
			continue
		}
		if en := describe.English(s); en != c.en {
			t.Errorf("%s: %q, want %q", expr, en, c.en)
		}
		if zh := describe.Chinese(s); zh != c.zh {
			t.Errorf("%s: %q, want %q", expr, zh, c.zh)
		}
	}
}

// TestAnything describes many expressions: there is always a sentence, of a bounded length.
func TestAnything(t *testing.T) {
	parts := []string{"*", "*/7", "5", "1-9/2", "3,4,5,9"}
	for _, m := range parts {
		for _, h := range parts {
			for _, d := range parts {
				for _, w := range []string{"*", "*/2", "5", "0-4", "1,3"} {
					s, err := cron.Parse(m+" "+h+" "+d+" * "+w, cron.Options{Location: time.UTC})
					if err != nil {
						t.Fatal(err)
					}
					for _, say := range []string{describe.English(s), describe.Chinese(s)} {
						if say == "" || len(say) > 600 {
							t.Errorf("%s: %q", s, say)
						}
					}
				}
			}
		}
	}
}
