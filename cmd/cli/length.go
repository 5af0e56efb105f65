package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// parseLength reads a length of time as people write it: 90s, 2h30m, 3d, 1d12h, and with colons as hours and minutes
// (24:00, as voms-proxy-init has it) or hours, minutes and seconds (1:30:00).
func parseLength(s string) (time.Duration, error) {
	if strings.HasPrefix(s, "-") {
		return 0, fmt.Errorf("%s is negative", s)
	}
	wrong := fmt.Errorf("%q is no length of time: say 90s, 2h30m, 3d or 1:30:00", s)
	if strings.Contains(s, ":") {
		return clockLength(s, wrong)
	}
	days, rest, ok := strings.Cut(s, "d")
	if !ok {
		days, rest = "0", s
	}
	n, err := strconv.ParseFloat(days, 64)
	if err != nil || !(n >= 0 && n <= 100_000) || s == "" {
		return 0, wrong
	}
	var d time.Duration
	if rest != "" {
		if d, err = time.ParseDuration(rest); err != nil || d < 0 {
			return 0, wrong
		}
	}
	if d += time.Duration(n * float64(24*time.Hour)); d < 0 { // beyond what a Duration holds
		return 0, wrong
	}
	return d, nil
}

// mostHours bounds what stands before a colon: a Duration holds no more than 292 years.
const mostHours = 2_400_000

func clockLength(s string, wrong error) (time.Duration, error) {
	parts := strings.Split(s, ":")
	if len(parts) > 3 {
		return 0, wrong
	}
	units := []time.Duration{time.Hour, time.Minute, time.Second}
	var sum time.Duration
	for i, p := range parts {
		n, err := strconv.ParseUint(p, 10, 32)
		if err != nil || n > mostHours || i > 0 && n > 59 {
			return 0, wrong
		}
		sum += time.Duration(n) * units[i]
	}
	return sum, nil
}

// lengthFlag is a length of time on the command line.
type lengthFlag struct{ to *time.Duration }

// lengthVar adds a flag for a length of time; a default of zero or less is told by the usage text alone.
func lengthVar(f *pflag.FlagSet, to *time.Duration, name string, def time.Duration, usage string) {
	*to = def
	f.Var(&lengthFlag{to}, name, usage)
}

// String is the default in the help text.
func (l *lengthFlag) String() string {
	if l.to == nil || *l.to <= 0 {
		return ""
	}
	return span(*l.to)
}

// Set implements pflag.Value.
func (l *lengthFlag) Set(s string) error {
	d, err := parseLength(s)
	if err == nil {
		*l.to = d
	}
	return err
}

// Type implements pflag.Value; the usage text names the value.
func (l *lengthFlag) Type() string { return "time" }
