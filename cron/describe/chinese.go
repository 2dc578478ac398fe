package describe

import (
	"fmt"
	"time"
)

var chinese language

func init() {
	every := func(unit, point string) func(uint64, int) string {
		return func(set uint64, n int) string {
			switch d := step(set, n); {
			case d == 1:
				return "每" + unit
			case d > 1:
				return fmt.Sprintf("每 %d %s", d, unit)
			}
			return "第 " + list(set, &chinese, number) + " " + point
		}
	}
	chinese = language{
		never:  "永不触发",
		every:  func(d time.Duration) string { return "每 " + d.String() },
		at:     func(times string) string { return times },
		second: every("秒", "秒"), minute: every("分钟", "分"),
		hour: func(set uint64, n int) string {
			if d := step(set, n); d > 1 {
				return fmt.Sprintf("每 %d 小时", d)
			}
			return list(set, &chinese, number) + " 点"
		},
		weekdays: []string{"周日", "周一", "周二", "周三", "周四", "周五", "周六"},
		months:   []string{"", "1 月", "2 月", "3 月", "4 月", "5 月", "6 月", "7 月", "8 月", "9 月", "10 月", "11 月", "12 月"},
		days:     func(list string) string { return "每月 " + list + " 日" },
		fromLast: func(n int) string {
			if n == 0 {
				return "每月最后一天"
			}
			return fmt.Sprintf("每月最后一天之前 %d 天", n)
		},
		lastWorkday: "每月最后一个工作日（周一至周五）",
		nearest:     func(d int) string { return fmt.Sprintf("每月离 %d 日最近的工作日（周一至周五）", d) },
		lastWeekday: func(name string) string { return "每月最后一个" + name },
		nth:         func(n int, name string) string { return fmt.Sprintf("每月第 %d 个%s", n, name) },
		in:          func(list string) string { return list },
		years:       func(list string) string { return list + " 年" },
		and:         "和", or: "或", to: "至", both: "，",
		join: func(when, days, months, years string) string {
			s := ""
			for _, part := range []string{years, months, days} {
				if part != "" {
					s += part + " "
				}
			}
			if s == "" && when[0] >= '0' && when[0] <= '9' {
				s = "每天 "
			}
			return s + when
		},
		zone: func(name string) string { return "（" + name + "）" },
	}
}
