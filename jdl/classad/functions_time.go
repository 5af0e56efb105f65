package classad

import (
	"math"
	"time"
)

// timeFunctions make and take apart times.
var timeFunctions = []function{
	{name: "time", min: 0, max: 0, strict: now(func(t time.Time) Value { return IntValue(t.Unix()) }), impure: true},
	{name: "currentTime", min: 0, max: 0, strict: now(absTimeOf), impure: true},
	{name: "timeZoneOffset", min: 0, max: 0, strict: now(timeZoneOffset), impure: true},
	{name: "dayTime", min: 0, max: 0, strict: now(dayTime), impure: true},
	{name: "absTime", min: 0, max: 2, strict: absTime, impure: true},
	{name: "relTime", min: 1, max: 1, strict: ofOne(relTime)},
	{name: "splitTime", min: 1, max: 1, strict: ofOne(splitTime)},
	{name: "formatTime", min: 0, max: 2, strict: formatTime, impure: true},
	{name: "interval", min: 1, max: 1, strict: interval},
	{name: "getYear", min: 1, max: 1, strict: datePart(func(t time.Time) int { return t.Year() })},
	{name: "getMonth", min: 1, max: 1, strict: datePart(func(t time.Time) int { return int(t.Month()) })},
	{name: "getDayOfYear", min: 1, max: 1, strict: datePart(func(t time.Time) int { return t.YearDay() - 1 })},
	{name: "getDayOfMonth", min: 1, max: 1, strict: datePart(func(t time.Time) int { return t.Day() })},
	{name: "getDayOfWeek", min: 1, max: 1, strict: datePart(func(t time.Time) int { return int(t.Weekday()) })},
	{name: "getDays", min: 1, max: 1, strict: clockPart(nil, 86400, math.MaxInt64)},
	{name: "getHours", min: 1, max: 1, strict: clockPart(time.Time.Hour, 3600, 24)},
	{name: "getMinutes", min: 1, max: 1, strict: clockPart(time.Time.Minute, 60, 60)},
	{name: "getSeconds", min: 1, max: 1, strict: clockPart(time.Time.Second, 1, 60)},
}

func now(f func(time.Time) Value) strictFunc {
	return func(ev *evaluator, _ []Value) Value { return f(ev.now()) }
}

func dayTime(t time.Time) Value {
	return RelTimeValue(float64(t.Hour()*3600 + t.Minute()*60 + t.Second()))
}

func timeZoneOffset(t time.Time) Value {
	_, zone := t.Zone()
	return RelTimeValue(float64(zone))
}

func absTimeOf(t time.Time) Value {
	_, zone := t.Zone()
	return AbsTimeValue(float64(t.Unix()), int32(zone))
}

// datePart makes a function of an absolute time, as a local clock shows it;
// anything else is ERROR.
func datePart(f func(time.Time) int) strictFunc {
	return func(ev *evaluator, vs []Value) Value {
		if vs[0].kind != AbsTime {
			return ErrorValue()
		}
		return IntValue(int64(f(vs[0].zoneTime().In(ev.now().Location()))))
	}
}

// clockPart makes a function of an absolute time (unless ofDay is nil) or of
// a relative one, of which it is the part of unit seconds, modulo.
func clockPart(ofDay func(time.Time) int, unit, modulo int64) strictFunc {
	return func(ev *evaluator, vs []Value) Value {
		switch v := vs[0]; {
		case v.kind == AbsTime && ofDay != nil:
			return IntValue(int64(ofDay(v.zoneTime().In(ev.now().Location()))))
		case v.kind == RelTime:
			return IntValue(int64(v.float()) / unit % modulo)
		}
		return ErrorValue()
	}
}

// seconds32 reads a number as seconds since the epoch: in 32 bits, as the
// ClassAd library does.
func seconds32(v Value) int64 {
	if v.kind == Int {
		return int64(int32(v.num))
	}
	if f := math.Trunc(v.float()); f >= math.MinInt32 && f <= math.MaxInt32 {
		return int64(f)
	}
	return math.MinInt32
}

// absTime(), absTime(text), absTime(seconds [, zone]) and absTime(time [,
// zone]). The zone, seconds east of UTC, does not move the time.
func absTime(ev *evaluator, vs []Value) Value {
	if len(vs) == 0 {
		return absTimeOf(ev.now())
	}
	var zone int64
	if len(vs) == 2 {
		switch z := vs[1]; z.kind {
		case Int, Real:
			zone = seconds32(z)
		case RelTime:
			zone = seconds32(RealValue(z.float()))
		default:
			return ErrorValue()
		}
	}
	var at float64
	switch v := vs[0]; v.kind {
	case Undefined, AbsTime:
		return v
	case String:
		if t, ok := parseAbsTime(v.str, ev.now().Location()); ok && len(vs) == 1 {
			return t
		}
		return ErrorValue()
	case Int, Real:
		at = float64(seconds32(v))
	case RelTime:
		at = math.Trunc(v.float())
	default:
		return ErrorValue()
	}
	if len(vs) == 1 {
		zone = int64(zoneAt(at, ev.now().Location()))
	}
	return AbsTimeValue(at, int32(zone))
}

func zoneAt(seconds float64, l *time.Location) int {
	_, zone := time.Unix(int64(seconds), 0).In(l).Zone()
	return zone
}

// relTime(seconds), relTime(text) and relTime(time).
func relTime(_ *evaluator, v Value) Value {
	switch v.kind {
	case String:
		if t, ok := parseRelTime(v.str); ok {
			return t
		}
	case Int:
		return RelTimeValue(float64(int32(v.num)))
	case Real:
		return RelTimeValue(v.float())
	case AbsTime, RelTime:
		return RelTimeValue(v.float())
	}
	return ErrorValue()
}

// splitTime makes a record of a time; a number is an absolute time in the
// local zone.
func splitTime(ev *evaluator, v Value) Value {
	switch v.kind {
	case Int, Real:
		f := float64(seconds32(v))
		v = AbsTimeValue(f, int32(zoneAt(f, ev.now().Location())))
	case RelTime:
		return recordOf("RelativeTime", relFields(v.float()))
	case AbsTime:
	default:
		return ErrorValue()
	}
	t := v.zoneTime()
	return recordOf("AbsoluteTime", []field{
		{"Year", IntValue(int64(t.Year()))}, {"Month", IntValue(int64(t.Month()))},
		{"Day", IntValue(int64(t.Day()))}, {"Hours", IntValue(int64(t.Hour()))},
		{"Minutes", IntValue(int64(t.Minute()))}, {"Seconds", IntValue(int64(t.Second()))},
		{"Offset", IntValue(int64(v.zone))},
	})
}

type field struct {
	name  string
	value Value
}

// relFields are the parts of a relative time. The sign of a negative one is
// that of the first part that is not zero.
func relFields(f float64) []field {
	whole, frac := math.Modf(math.Abs(f))
	n := int64(whole)
	days, hours, minutes, seconds := n/86400, n/3600%24, n/60%60, float64(n%60)+frac
	if f < 0 {
		switch {
		case days > 0:
			days = -days
		case hours > 0:
			hours = -hours
		case minutes > 0:
			minutes = -minutes
		default:
			seconds = -seconds
		}
	}
	return []field{
		{"Days", IntValue(days)}, {"Hours", IntValue(hours)}, {"Minutes", IntValue(minutes)}, {"Seconds", RealValue(seconds)},
	}
}

func recordOf(typ string, fields []field) Value {
	ad := NewAd()
	ad.Set("Type", NewLiteral(StringValue(typ)))
	for _, f := range fields {
		ad.Set(f.name, NewLiteral(f.value))
	}
	return RecordValue(ad)
}

// interval prints seconds as a duration. It takes what int takes, and counts
// in 32 bits, as the ClassAd library does; UNDEFINED is an ERROR.
func interval(ev *evaluator, vs []Value) Value {
	n := toInt(ev, vs[0])
	if n.kind != Int {
		return ErrorValue()
	}
	return StringValue(intervalText(int32(n.num)))
}
