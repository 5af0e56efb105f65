package classad

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// formatTime([time [, format]]) prints a time as strftime(3) does in the C
// locale. The time is absolute, a number of seconds, or a record as splitTime
// makes it; the format is "%c" unless given. UNDEFINED is an ERROR.
func formatTime(ev *evaluator, vs []Value) Value {
	c, format := clockAt(ev.now()), "%c"
	if len(vs) > 0 {
		var ok bool
		if c, ok = ev.clockOf(vs[0]); !ok {
			return ErrorValue()
		}
	}
	if len(vs) == 2 {
		if vs[1].kind != String {
			return ErrorValue()
		}
		format = vs[1].str
	}
	if !ev.spend(len(format), 0) {
		return ErrorValue()
	}
	return ev.produce(c.strftime(format))
}

// clock is a time as a calendar and a clock show it: the fields of the C
// library's struct tm, which may be out of their range.
type clock struct {
	year, month, day     int // month 1 to 12
	hour, minute, second int
	weekday, yearday     int    // from 0, Sunday
	zone                 string // name of the time zone
	offset               int    // seconds east of UTC
}

// clockAt is a moment where its zone stands.
func clockAt(t time.Time) clock {
	c := clock{
		year: t.Year(), month: int(t.Month()), day: t.Day(), hour: t.Hour(), minute: t.Minute(), second: t.Second(),
		weekday: int(t.Weekday()), yearday: t.YearDay() - 1,
	}
	c.zone, c.offset = t.Zone()
	return c
}

// clockOf reads a time. The zone is not kept, as in the ClassAd library.
func (ev *evaluator) clockOf(v Value) (clock, bool) {
	var c clock
	switch v.kind {
	case Int, Real:
		c = clockAt(time.Unix(seconds32(v), 0).In(ev.now().Location()))
	case AbsTime:
		c = clockAt(v.zoneTime())
	case Record:
		c = ev.clockOfRecord(v.box.rec)
	default:
		return clock{}, false
	}
	c.zone, c.offset = "", 0
	return c, true
}

// clockOfRecord takes the fields that splitTime makes; those that are missing
// or no integers are zero, the year 1900 and the month January.
func (ev *evaluator) clockOfRecord(r *scope) clock {
	get := func(name string, absent int) int {
		v, _ := ev.attribute(r, name, Fold(name))
		if n, ok := v.Int(); ok {
			return int(int32(n))
		}
		return absent
	}
	c := clock{
		year: get("Year", 1900), month: get("Month", 1), day: get("Day", 0),
		hour: get("Hours", 0), minute: get("Minutes", 0), second: get("Seconds", 0),
	}
	day := dayNumber(c.year, c.month, c.day)
	c.weekday, c.yearday = day%7, day-dayNumber(c.year, 1, 1)
	return c
}

// dayNumber counts the days since the beginning of the Gregorian calendar's
// year 1 (E. M. Reingold, N. Dershowitz, Calendrical Calculations).
func dayNumber(year, month, day int) int {
	y := year - 1
	correction := 0
	if month > 2 {
		correction = -2
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			correction = -1
		}
	}
	return 365*y + y/4 - y/100 + y/400 + (367*month-362)/12 + correction + day
}

func (c clock) strftime(format string) string {
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		i++
		if whole, ok := composed[format[i]]; ok {
			b.WriteString(c.strftime(whole))
		} else {
			b.WriteString(c.field(format[i]))
		}
	}
	return b.String()
}

// composed are the conversions that stand for others, in the C locale.
var composed = map[byte]string{
	'c': "%a %b %e %H:%M:%S %Y", 'D': "%m/%d/%y", 'F': "%Y-%m-%d", 'h': "%b", 'r': "%I:%M:%S %p",
	'R': "%H:%M", 'T': "%H:%M:%S", 'x': "%m/%d/%y", 'X': "%H:%M:%S",
}

// field prints one conversion; an unknown one stays as it is.
func (c clock) field(conversion byte) string {
	switch conversion {
	case '%':
		return "%"
	case 'n':
		return "\n"
	case 't':
		return "\t"
	case 'a', 'A', 'b', 'B', 'p', 'P', 'Z':
		return c.word(conversion)
	case 'C', 'y', 'Y', 'g', 'G', 'u', 'U', 'V', 'w', 'W':
		return c.week(conversion)
	case 'd':
		return two(c.day)
	case 'e':
		return fmt.Sprintf("%2d", c.day)
	case 'H':
		return two(c.hour)
	case 'I':
		return two(c.hour12())
	case 'j':
		return fmt.Sprintf("%03d", c.yearday+1)
	case 'k':
		return fmt.Sprintf("%2d", c.hour)
	case 'l':
		return fmt.Sprintf("%2d", c.hour12())
	case 'm':
		return two(c.month)
	case 'M':
		return two(c.minute)
	case 's':
		return strconv.FormatInt(time.Date(c.year, time.Month(c.month), c.day, c.hour, c.minute, c.second, 0, time.Local).Unix(), 10)
	case 'S':
		return two(c.second)
	case 'z':
		return time.Time{}.In(time.FixedZone("", c.offset)).Format("-0700")
	}
	return "%" + string(conversion)
}

// week prints what tells years and weeks.
func (c clock) week(conversion byte) string {
	isoYear, isoWeek := c.isoWeek()
	fromMonday := (c.weekday + 6) % 7
	switch conversion {
	case 'C':
		return two(int(math.Floor(float64(c.year) / 100)))
	case 'y':
		return two(((c.year % 100) + 100) % 100)
	case 'Y':
		return strconv.Itoa(c.year)
	case 'g':
		return two(((isoYear % 100) + 100) % 100)
	case 'G':
		return strconv.Itoa(isoYear)
	case 'u':
		return strconv.Itoa(fromMonday + 1)
	case 'U':
		return two((c.yearday + 7 - c.weekday) / 7)
	case 'V':
		return two(isoWeek)
	case 'w':
		return strconv.Itoa(c.weekday)
	}
	return two((c.yearday + 7 - fromMonday) / 7) // W
}

func two(n int) string { return fmt.Sprintf("%02d", n) }

// word prints the conversions to words; ? for a day or month there is none of.
func (c clock) word(conversion byte) string {
	name := "?"
	switch conversion {
	case 'a', 'A':
		if c.weekday >= 0 && c.weekday < 7 {
			name = time.Weekday(c.weekday).String()
		}
	case 'b', 'B':
		if c.month >= 1 && c.month <= 12 {
			name = time.Month(c.month).String()
		}
	case 'p', 'P':
		if name = "AM"; c.hour > 11 {
			name = "PM"
		}
		if conversion == 'P' {
			name = strings.ToLower(name)
		}
	case 'Z':
		return c.zone
	}
	if (conversion == 'a' || conversion == 'b') && name != "?" {
		return name[:3]
	}
	return name
}

// hour12 is the hour of a clock with twelve.
func (c clock) hour12() int {
	switch {
	case c.hour > 12:
		return c.hour - 12
	case c.hour == 0:
		return 12
	}
	return c.hour
}

// isoWeek is the week of ISO 8601 and the year it belongs to.
func (c clock) isoWeek() (year, week int) {
	return time.Date(c.year, 1, 1+c.yearday, 0, 0, 0, 0, time.UTC).ISOWeek()
}
