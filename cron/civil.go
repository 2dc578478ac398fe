package cron

// civil returns the date of a day since 1970-01-01, of the proleptic Gregorian calendar. After Howard Hinnant,
// "chrono-Compatible Low-Level Date Algorithms": https://howardhinnant.github.io/date_algorithms.html.
func civil(day int64) (year, month, dom int) {
	z := uint64(day + 719468)
	era := z / 146097
	doe := z % 146097
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	dom = int(doy-(153*mp+2)/5) + 1
	month = int(mp) + 3
	year = int(yoe + era*400)
	if month > 12 {
		month -= 12
		year++
	}
	return year, month, dom
}

// weekdayOf returns the weekday of a day since 1970-01-01, which was a Thursday; 0 is Sunday.
func weekdayOf(day int64) int { return int((day + 4) % 7) }

func leap(year int) bool { return year%4 == 0 && (year%100 != 0 || year%400 == 0) }

func daysIn(year, month int) int {
	if month == 2 {
		if leap(year) {
			return 29
		}
		return 28
	}
	return 30 + (month+month>>3)&1
}

func daysInYear(year int) int {
	if leap(year) {
		return 366
	}
	return 365
}
