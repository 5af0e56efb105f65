package glue

import (
	"bytes"
	"strconv"
	"time"
)

// Numbers that information providers publish when they do not know. The
// limits of 32-bit integers, and 2146660842, which gLite's dynamic scheduler
// plug-in gives as response time when it cannot reach the batch system.
const (
	maxInt32     = 2147483647
	maxUint32    = 4294967295
	deadResponse = 2146660842
	deadWaiting  = 444444 // the static default of GlueCEStateWaitingJobs
)

// tenYears is beyond any real limit or wait of a queue.
const tenYears = 10 * 365 * 24 * time.Hour

// parseInt reads a decimal integer; a fraction of zeros (SI00: 2500.0) is let
// pass.
func parseInt(b []byte) (int64, bool) {
	b = bytes.TrimSpace(b)
	if whole, frac, ok := bytes.Cut(b, []byte{'.'}); ok && len(bytes.Trim(frac, "0")) == 0 {
		b = whole
	}
	n, err := strconv.ParseInt(string(b), 10, 64)
	return n, err == nil
}

// isPlaceholder reports whether n means "no idea" or "no limit": negative, an
// integer type's limit, or all nines or all fours with at least digits digits.
func isPlaceholder(n int64, digits int) bool {
	switch n {
	case maxInt32, maxInt32 - 1, maxUint32, deadResponse, 1<<63 - 1:
		return true
	}
	return n < 0 || n >= 1000 && repeats(n, 9, digits) || repeats(n, 4, digits)
}

// repeats reports whether n is written with the one digit only, at least
// times times.
func repeats(n, digit int64, times int) bool {
	for ; n > 0; n /= 10 {
		if n%10 != digit {
			return false
		}
		times--
	}
	return times <= 0
}

// count decodes a number of jobs, slots, MB or MHz.
func count(b []byte) Opt[int64] {
	n, ok := parseInt(b)
	if !ok || isPlaceholder(n, 5) {
		return Opt[int64]{}
	}
	return Some(n)
}

// limit is count where 0 means "no limit" or "not known".
func limit(b []byte) Opt[int64] {
	n := count(b)
	if n.V == 0 {
		return Opt[int64]{}
	}
	return n
}

// gigabytes decodes a size published in GB, in MB.
func gigabytes(v []byte) Opt[int64] {
	n := limit(v)
	if !n.OK || n.V > 1<<40 {
		return Opt[int64]{}
	}
	return Some(n.V * 1024)
}

// span decodes a duration published in units of unit. All nines or fours
// count as placeholders from four digits on: limits are round numbers.
func span(b []byte, unit time.Duration) Opt[time.Duration] {
	n, ok := parseInt(b)
	if !ok || isPlaceholder(n, 4) || n > int64(tenYears/unit) {
		return Opt[time.Duration]{}
	}
	return Some(time.Duration(n) * unit)
}

// spanLimit is span where 0 means "no limit" or "not known".
func spanLimit(b []byte, unit time.Duration) Opt[time.Duration] {
	d := span(b, unit)
	if d.V == 0 {
		return Opt[time.Duration]{}
	}
	return d
}

// boolean decodes TRUE/FALSE in any case, and 1/0.
func boolean(b []byte) Opt[bool] {
	switch string(bytes.ToLower(bytes.TrimSpace(b))) {
	case "true", "1", "yes":
		return Some(true)
	case "false", "0", "no":
		return Some(false)
	}
	return Opt[bool]{}
}

// real decodes a positive number, as benchmarks are.
func real(b []byte) (float64, bool) {
	f, err := strconv.ParseFloat(string(bytes.TrimSpace(b)), 64)
	return f, err == nil && f > 0 && f < 1e12
}

// timestamp decodes an LDAP generalized time (RFC 4517, 3.3.13) or an ISO 8601
// time; the zero time when it is neither.
func timestamp(b []byte) time.Time {
	for _, layout := range [...]string{time.RFC3339, "20060102150405Z0700", "200601021504Z0700", "2006010215Z0700"} {
		if t, err := time.Parse(layout, string(b)); err == nil {
			return t
		}
	}
	return time.Time{}
}
