package classad

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// parseAbsTime reads "2009-01-02T03:04:05-0600": any separators, or none; a
// part that is missing is zero (the month January), and parts out of range
// carry over. The zone is Z, ±hhmm, ±hh:mm, or that of local. Digits beyond
// these are an error.
func parseAbsTime(s string, local *time.Location) (Value, bool) {
	s, zone, hasZone := cutZone(s)
	if hasZone {
		local = time.FixedZone("", zone)
	}
	i := digitFrom(s, 0)
	if len(s)-i < 4 {
		return Value{}, false
	}
	part := [6]int{leadingInt(s[i : i+4]), 1} // year, month, day, hour, minute, second
	i = digitFrom(s, i+4)
	for n := 1; n < len(part) && i <= len(s)-2; n++ {
		part[n] = leadingInt(s[i : i+2])
		i = digitFrom(s, i+2)
	}
	if i < len(s) {
		return Value{}, false
	}
	t := time.Date(part[0], time.Month(part[1]), part[2], part[3], part[4], part[5], 0, local)
	_, offset := t.Zone()
	return AbsTimeValue(float64(t.Unix()), int32(offset)), true
}

// digitFrom is where the next digit is, from i on, or the end of s.
func digitFrom(s string, i int) int {
	for i < len(s) && !isDigit(s[i]) {
		i++
	}
	return i
}

// cutZone takes a zone off the end; seconds east of UTC.
func cutZone(s string) (rest string, seconds int, ok bool) {
	n := len(s)
	switch end := strings.TrimRight(s, space); {
	case len(end) > 1 && end[len(end)-1]|0x20 == 'z':
		return end[:len(end)-1], 0, true
	case n > 5 && isSign(s[n-5]):
		if isZone(s[n-5:]) {
			return s[:n-5], zoneSeconds(s[n-5], s[n-4:n-2], s[n-2:]), true
		}
	case n > 6 && s[n-3] == ':' && isZone(s[n-6:n-3]+s[n-2:]):
		return s[:n-6], zoneSeconds(s[n-6], s[n-5:n-3], s[n-2:]), true
	}
	return s, 0, false
}

// space is the white space of the language.
const space = " \t\n\v\f\r"

func isSign(c byte) bool { return c == '+' || c == '-' }

func isZone(s string) bool {
	if !isSign(s[0]) {
		return false
	}
	for _, c := range []byte(s[1:]) {
		if !isDigit(c) {
			return false
		}
	}
	return true
}

func zoneSeconds(sign byte, hours, minutes string) int {
	n := leadingInt(hours)*3600 + leadingInt(minutes)*60
	if sign == '-' {
		return -n
	}
	return n
}

// leadingInt is the number a short text starts with, 0 if it starts with none.
func leadingInt(s string) int {
	n := 0
	for i := 0; i < len(s) && isDigit(s[i]); i++ {
		n = n*10 + int(s[i]-'0')
	}
	return n
}

// parseRelTime reads "1+02:03:04.5", "02:03:04", "2:30", "1d2h3m4s", "1d02:30",
// "90s", "90" or nothing at all, a minus in front. Every part may be missing,
// and either mark may stand after each.
func parseRelTime(s string) (Value, bool) {
	seconds, s, ok := cutSeconds(s)
	for _, part := range []struct {
		marks string
		scale float64
	}{{"mM:", 60}, {"hH:", 3600}, {"dD+", 86400}} {
		s = strings.TrimRight(s, space)
		if s == "" || strings.IndexByte(part.marks, s[len(s)-1]) < 0 {
			continue
		}
		s = strings.TrimRight(s[:len(s)-1], space)
		start := len(strings.TrimRight(s, "0123456789"))
		n, err := strconv.ParseInt("0"+s[start:], 10, 53)
		ok = ok && err == nil
		seconds += float64(n) * part.scale
		s = s[:start]
	}
	ok = ok && seconds < 1<<53
	if s = strings.Trim(s, space); s == "-" {
		return RelTimeValue(-seconds), ok
	}
	return RelTimeValue(seconds), ok && s == ""
}

// cutSeconds takes the seconds, with a fraction or an s after them, off the
// end.
func cutSeconds(s string) (seconds float64, rest string, ok bool) {
	s = strings.TrimRight(s, space)
	if s == "" || s[len(s)-1]|0x20 != 's' && !isDigit(s[len(s)-1]) {
		return 0, s, true
	}
	if s[len(s)-1]|0x20 == 's' {
		s = strings.TrimRight(s[:len(s)-1], space)
	}
	start := len(strings.TrimRight(s, "0123456789"))
	if start > 0 && s[start-1] == '.' {
		start = len(strings.TrimRight(s[:start-1], "0123456789"))
	}
	seconds, err := strconv.ParseFloat("0"+s[start:]+"e0", 64)
	return seconds, s[:start], err == nil
}

// zoneTime is the absolute time as a clock in its zone shows it.
func (v Value) zoneTime() time.Time {
	return time.Unix(int64(math.Floor(v.float())), 0).In(time.FixedZone("", int(v.zone)))
}

// absTimeText prints ISO 8601; offset zero is -00:00, as the library has it.
func absTimeText(v Value) string {
	sign, zone := '+', v.zone
	if zone <= 0 {
		sign, zone = '-', -zone
	}
	return fmt.Sprintf("%s%c%02d:%02d", v.zoneTime().Format("2006-01-02T15:04:05"), sign, zone/3600, zone/60%60)
}

// relTimeText prints [days+]hh:mm:ss without the leading zero parts.
func relTimeText(v Value) string {
	f := v.float()
	sign := ""
	if f < 0 {
		sign, f = "-", -f
	}
	whole, frac := math.Modf(f)
	n := int64(whole)
	text := fmt.Sprintf("%02d", n%60)
	if frac != 0 {
		text = strconv.FormatInt(n%60, 10) + strings.TrimPrefix(strconv.FormatFloat(frac, 'f', -1, 64), "0")
	}
	switch {
	case n >= 86400:
		text = fmt.Sprintf("%d+%02d:%02d:%s", n/86400, n/3600%24, n/60%60, text)
	case n >= 3600:
		text = fmt.Sprintf("%02d:%02d:%s", n/3600, n/60%60, text)
	case n >= 60:
		text = fmt.Sprintf("%02d:%s", n/60, text)
	}
	return sign + text
}

// intervalText prints [days+]h:mm:ss of whole seconds, without the leading
// zero parts.
func intervalText(n int32) string {
	sign := ""
	u := uint32(n)
	if n < 0 {
		sign, u = "-", -u
	}
	switch {
	case u >= 86400:
		return fmt.Sprintf("%s%d+%02d:%02d:%02d", sign, u/86400, u/3600%24, u/60%60, u%60)
	case u >= 3600:
		return fmt.Sprintf("%s%d:%02d:%02d", sign, u/3600, u/60%60, u%60)
	case u >= 60:
		return fmt.Sprintf("%s%d:%02d", sign, u/60, u%60)
	}
	return fmt.Sprintf("%s%d", sign, u)
}
