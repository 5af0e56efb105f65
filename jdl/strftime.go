package jdl

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// formatTime([time [, format]]) prints a time as strftime(3) does in the C
// locale. The time is absolute, a number of seconds, or a record as splitTime
// makes it; the format is "%c" unless given.
func formatTime(ev *evaluator, vs []Value) Value {
	if v, bad := errorFirst(vs...); bad {
		return v
	}
	t, format := ev.now(), "%c"
	if len(vs) > 0 {
		var ok bool
		if t, ok = ev.clockOf(vs[0]); !ok {
			return ErrorValue()
		}
	}
	if len(vs) == 2 {
		if vs[1].kind != String {
			return ErrorValue()
		}
		format = vs[1].str
	}
	return ev.produce(strftime(t, format))
}

func (ev *evaluator) clockOf(v Value) (time.Time, bool) {
	switch v.kind {
	case Int, Real:
		f, _ := v.Number()
		return time.Unix(int64(math.Trunc(f)), 0).In(ev.now().Location()), true
	case AbsTime:
		return v.zoneTime(), true
	case Record:
		return ev.clockOfRecord(v.box.rec), true
	}
	return time.Time{}, false
}

func (ev *evaluator) clockOfRecord(r *scope) time.Time {
	get := func(name string, absent int64) int {
		v, ok := ev.attribute(r, name, fold(name))
		if n, isInt := v.Int(); ok && isInt && n > -1<<31 && n < 1<<31 {
			return int(n)
		}
		return int(absent)
	}
	zone := time.FixedZone("", get("Offset", 0))
	return time.Date(get("Year", 1970), time.Month(get("Month", 1)), get("Day", 1),
		get("Hours", 0), get("Minutes", 0), get("Seconds", 0), 0, zone)
}

// layouts are the conversions that are layouts of package time.
var layouts = map[byte]string{
	'a': "Mon", 'A': "Monday", 'b': "Jan", 'h': "Jan", 'B': "January", 'c': "Mon Jan _2 15:04:05 2006",
	'd': "02", 'D': "01/02/06", 'e': "_2", 'F': "2006-01-02", 'H': "15", 'I': "03", 'm': "01", 'M': "04",
	'p': "PM", 'P': "pm", 'r': "03:04:05 PM", 'R': "15:04", 'S': "05", 'T': "15:04:05", 'x': "01/02/06",
	'X': "15:04:05", 'y': "06", 'Y': "2006", 'z': "-0700", 'Z': "MST",
}

func strftime(t time.Time, format string) string {
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		i++
		if layout, ok := layouts[format[i]]; ok {
			b.WriteString(t.Format(layout))
		} else {
			b.WriteString(computed(t, format[i]))
		}
	}
	return b.String()
}

// computed prints the conversions that no layout expresses; an unknown one
// stays as it is.
func computed(t time.Time, c byte) string {
	isoYear, isoWeek := t.ISOWeek()
	monday := (int(t.Weekday()) + 6) % 7
	switch c {
	case '%':
		return "%"
	case 'n':
		return "\n"
	case 't':
		return "\t"
	case 'C':
		return fmt.Sprintf("%02d", t.Year()/100)
	case 'g':
		return fmt.Sprintf("%02d", isoYear%100)
	case 'G':
		return strconv.Itoa(isoYear)
	case 'j':
		return fmt.Sprintf("%03d", t.YearDay())
	case 'k':
		return fmt.Sprintf("%2d", t.Hour())
	case 'l':
		return fmt.Sprintf("%2d", (t.Hour()+11)%12+1)
	case 's':
		return strconv.FormatInt(t.Unix(), 10)
	case 'u':
		return strconv.Itoa(monday + 1)
	case 'U':
		return fmt.Sprintf("%02d", (t.YearDay()+6-int(t.Weekday()))/7)
	case 'V':
		return fmt.Sprintf("%02d", isoWeek)
	case 'w':
		return strconv.Itoa(int(t.Weekday()))
	case 'W':
		return fmt.Sprintf("%02d", (t.YearDay()+6-monday)/7)
	}
	return "%" + string(c)
}
