package jdl

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"gridbroker/jdl/classad"
)

// describe names a value for a message.
func describe(v classad.Value) string {
	switch v.Kind() {
	case classad.Undefined:
		return "UNDEFINED"
	case classad.Error:
		return "ERROR"
	case classad.Bool:
		if v.IsTrue() {
			return "the boolean true"
		}
		return "the boolean false"
	case classad.Int, classad.Real:
		f, _ := v.Number()
		return "the number " + formatNumber(f)
	case classad.String:
		s, _ := v.Str()
		if len(s) > 40 {
			s = s[:40] + "..."
		}
		return fmt.Sprintf("the string %q", s)
	case classad.List:
		vs, _ := v.List()
		for _, x := range vs {
			if x.Kind() != classad.String {
				return "a list with " + describe(x)
			}
		}
		return "a list"
	case classad.Record:
		return "a record"
	}
	return "a time"
}

// formatNumber prints a whole number without a dot.
func formatNumber(f float64) string {
	if f == math.Trunc(f) && math.Abs(f) < 1e15 {
		return strconv.FormatInt(int64(f), 10)
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// readNumber reads the text of a number, blanks around it allowed.
func readNumber(s string) (float64, bool) {
	f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	return f, err == nil && !math.IsInf(f, 0) && !math.IsNaN(f)
}

// timeUnits are seconds by the first letters of a unit.
var timeUnits = []struct {
	name string
	sec  float64
}{
	{"s", 1}, {"sec", 1}, {"second", 1}, {"m", 60}, {"min", 60}, {"minute", 60}, {"h", 3600}, {"hour", 3600},
	{"d", 86400}, {"day", 86400}, {"w", 604800}, {"week", 604800},
}

// ParseDuration reads a time: a bare number counts in unit; "1h30m",
// "2 days 4 hours", "90 min", "1:30:00" (hours first), "PT1H30M" (ISO 8601).
func ParseDuration(s string, unit time.Duration) (time.Duration, bool) {
	t := strings.TrimSpace(s)
	if f, ok := readNumber(t); ok {
		return seconds(f * unit.Seconds())
	}
	if strings.Contains(t, ":") {
		return parseClock(t)
	}
	if t = classad.Fold(t); strings.HasPrefix(t, "p") {
		days, hours, _ := strings.Cut(t[1:], "t")
		if strings.Contains(days, "m") { // months
			return 0, false
		}
		t = days + hours
	}
	if t = strings.Trim(t, " ,"); t == "" {
		return 0, false
	}
	total := 0.0
	for ; t != ""; t = strings.TrimLeft(t, " ,") {
		f, sec, rest, ok := cutQuantity(t)
		if !ok {
			return 0, false
		}
		total, t = total+f*sec, rest
	}
	return seconds(total)
}

// cutQuantity takes "30 min" off the front of a text.
func cutQuantity(s string) (f, sec float64, rest string, ok bool) {
	n := strings.IndexFunc(s, func(c rune) bool { return (c < '0' || c > '9') && c != '.' })
	if n <= 0 {
		return 0, 0, "", false
	}
	f, ok = readNumber(s[:n])
	s = strings.TrimLeft(s[n:], " ")
	n = strings.IndexFunc(s, func(c rune) bool { return c|0x20 < 'a' || c|0x20 > 'z' })
	if n < 0 {
		n = len(s)
	}
	for _, u := range timeUnits {
		if word := classad.Fold(s[:n]); word == u.name || word == u.name+"s" {
			return f, u.sec, s[n:], ok
		}
	}
	return 0, 0, "", false
}

// parseClock reads h:m:s or h:m, each at least one digit.
func parseClock(s string) (time.Duration, bool) {
	parts := strings.Split(s, ":")
	if len(parts) > 3 {
		return 0, false
	}
	total := 0.0
	for i, scale := range []float64{3600, 60, 1}[:len(parts)] {
		f, err := strconv.ParseUint(parts[i], 10, 31)
		if err != nil {
			return 0, false
		}
		total += float64(f) * scale
	}
	return seconds(total)
}

// maxSeconds bounds times: 100 years.
const maxSeconds = 100 * 366 * 86400

func seconds(f float64) (time.Duration, bool) {
	return time.Duration(math.Round(f * float64(time.Second))), f >= 0 && f <= maxSeconds
}

// sizeUnits are MB by the first letter of a unit.
var sizeUnits = map[string]float64{"": 1, "b": 1.0 / (1 << 20), "k": 1.0 / 1024, "m": 1, "g": 1024, "t": 1 << 20, "p": 1 << 30}

// maxMB bounds sizes: an exabyte.
const maxMB = 1 << 40

// ParseSize reads a size in MB: "4 GB", "2.5G", "512MiB", "4000". Units are
// powers of 1024. Parts of a MB count as a whole one.
func ParseSize(s string) (int64, bool) {
	t := classad.Fold(strings.TrimSpace(s))
	n := strings.IndexFunc(t, func(c rune) bool { return (c < '0' || c > '9') && c != '.' })
	if n < 0 {
		n = len(t)
	}
	f, ok := readNumber(t[:n])
	word := strings.TrimSpace(t[n:])
	if len(word) > 1 {
		word = strings.TrimSuffix(strings.TrimSuffix(word, "b"), "i")
	}
	scale, known := sizeUnits[word]
	return sizeMB(f*scale, ok && known)
}

func sizeMB(mb float64, ok bool) (int64, bool) {
	return int64(math.Ceil(mb)), ok && mb >= 0 && mb <= maxMB
}
