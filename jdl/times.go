package jdl

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// parseAbsTime reads "2009-01-02T03:04:05-0600": any separators, or none; a
// part that is missing is zero, and parts out of range carry over. The zone
// is Z, ±hhmm, ±hh:mm, or that of local.
func parseAbsTime(s string, local *time.Location) (Value, bool) {
	s = strings.TrimRight(s, " \t\r\n")
	zone, hasZone := 0, false
	if s, zone, hasZone = cutZone(s); hasZone {
		local = time.FixedZone("", zone)
	}
	i := strings.IndexFunc(s, func(r rune) bool { return '0' <= r && r <= '9' })
	if i < 0 || len(s)-i < 4 {
		return Value{}, false
	}
	var part [6]int // year, month, day, hour, minute, second
	part[0] = leadingInt(s[i : i+4])
	i += 4
	for n := 1; n < len(part); n++ {
		for i < len(s) && !isDigit(s[i]) {
			i++
		}
		if i == len(s) {
			break
		}
		end := min(i+2, len(s))
		part[n] = leadingInt(s[i:end])
		i = end
	}
	month := time.Month(max(part[1], 1))
	t := time.Date(part[0], month, part[2], part[3], part[4], part[5], 0, local)
	_, offset := t.Zone()
	return AbsTimeValue(float64(t.Unix()), int32(offset)), true
}

// cutZone takes a zone off the end; seconds east of UTC.
func cutZone(s string) (rest string, seconds int, ok bool) {
	n := len(s)
	switch {
	case n > 0 && s[n-1]|0x20 == 'z':
		return s[:n-1], 0, true
	case n > 5 && isZone(s[n-5:n-2]+s[n-2:]):
		return s[:n-5], zoneSeconds(s[n-5], s[n-4:n-2], s[n-2:]), true
	case n > 6 && s[n-3] == ':' && isZone(s[n-6:n-3]+s[n-2:]):
		return s[:n-6], zoneSeconds(s[n-6], s[n-5:n-3], s[n-2:]), true
	}
	return s, 0, false
}

func isZone(s string) bool {
	if s[0] != '+' && s[0] != '-' {
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

// parseRelTime reads "1+02:03:04.5", "02:03:04", "2:30", "1d2h3m4s", "90s" or
// "90", a sign in front.
func parseRelTime(s string) (Value, bool) {
	s = strings.TrimSpace(s)
	sign := 1.0
	if s != "" && (s[0] == '-' || s[0] == '+') {
		if s[0] == '-' {
			sign = -1
		}
		s = strings.TrimSpace(s[1:])
	}
	seconds, ok := relUnits(s)
	if !ok {
		seconds, ok = relColons(s)
	}
	return RelTimeValue(sign * seconds), ok && seconds < 1<<53
}

// relUnits reads numbers followed by d, h, m and s, each at most once and in
// that order.
func relUnits(s string) (seconds float64, ok bool) {
	for _, u := range []struct {
		letter byte
		scale  float64
	}{{'d', 86400}, {'h', 3600}, {'m', 60}, {'s', 1}} {
		i := 0
		for i < len(s) && (isDigit(s[i]) || s[i] == '.') {
			i++
		}
		if i == 0 || i == len(s) || s[i]|0x20 != u.letter {
			continue
		}
		n, err := strconv.ParseFloat(s[:i], 64)
		if err != nil {
			return 0, false
		}
		seconds, ok = seconds+n*u.scale, true
		s = strings.TrimLeft(s[i+1:], " ")
	}
	return seconds, ok && s == ""
}

// relColons reads [[[days+]hours:]minutes:]seconds[.fraction].
func relColons(s string) (seconds float64, ok bool) {
	days, rest, has := strings.Cut(s, "+")
	if has {
		n, err := strconv.ParseUint(strings.TrimSpace(days), 10, 50)
		if err != nil {
			return 0, false
		}
		seconds, s = float64(n)*86400, rest
	}
	parts := strings.Split(s, ":")
	if len(parts) > 3 {
		return 0, false
	}
	clock := 0.0
	for i, p := range parts {
		p = strings.TrimSpace(p)
		if p == "" || !isDigit(p[0]) && p[0] != '.' || i < len(parts)-1 && strings.Contains(p, ".") {
			return 0, false
		}
		n, err := strconv.ParseFloat(p, 64)
		if err != nil || strings.ContainsAny(p, "eExXpP_") {
			return 0, false
		}
		clock = clock*60 + n
	}
	return seconds + clock, true
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
	switch {
	case n >= 86400:
		text = fmt.Sprintf("%d+%02d:%02d:%s", n/86400, n/3600%24, n/60%60, text)
	case n >= 3600:
		text = fmt.Sprintf("%02d:%02d:%s", n/3600, n/60%60, text)
	case n >= 60:
		text = fmt.Sprintf("%02d:%s", n/60, text)
	}
	if frac != 0 {
		digits := strconv.FormatFloat(frac, 'f', -1, 64)
		text += strings.TrimPrefix(digits, "0")
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
