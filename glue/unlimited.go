package glue

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"gridbroker/jdl/classad"
)

// Limits is a set of limits.
type Limits uint16

// The limits that a share may say it does not have. Their names are those of Resource's fields in JSON.
const (
	LimitWallTime Limits = 1 << iota
	LimitCPUTime
	LimitRunning
	LimitWaiting
	LimitTotal
	LimitPreLRMSWaiting
	LimitUserRunning
	LimitSlotsPerJob
	LimitMemory
	LimitVirtualMemory
	LimitDisk
)

var limitNames = [...]string{"max_wall_time", "max_cpu_time", "max_running", "max_waiting", "max_total", "max_pre_lrms_waiting",
	"max_user_running", "max_slots_per_job", "max_memory", "max_virtual_memory", "max_disk"}

// noLimit is the value of a limit that is none, as GLUE has it: a job that asks for GlueCEPolicyMaxWallClockTime >= 60 means
// such a queue, too.
const noLimit = 999999999

// Document is the names of the limits.
func (l Limits) Document() []string {
	names := []string{}
	for i, name := range limitNames {
		if l&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// MarshalJSON writes the names of the limits.
func (l Limits) MarshalJSON() ([]byte, error) { return json.Marshal(l.Document()) }

// UnmarshalJSON is the reverse of MarshalJSON.
func (l *Limits) UnmarshalJSON(text []byte) error {
	var names []string
	if err := json.Unmarshal(text, &names); err != nil {
		return err
	}
	*l = 0
	for _, name := range names {
		i := slices.Index(limitNames[:], name)
		if i < 0 {
			return fmt.Errorf("%q is no limit of a share", name)
		}
		*l |= 1 << i
	}
	return nil
}

// Free reports whether the source says that the share does not have a limit. What it does not publish may be a limit all the same.
func (r *Resource) Free(l Limits) bool { return r.Unlimited&l != 0 }

// setMost takes a published limit of a number.
func (r *Resource) setMost(l Limits, d *Opt[int64], v []byte) {
	*d = limit(v)
	r.say(l, d.OK, endless(v, 5, 1<<63-1))
}

// setLongest takes a published limit of a time. Of two names of one limit the first that is a time counts.
func (r *Resource) setLongest(l Limits, d *Opt[time.Duration], v []byte, unit time.Duration) {
	if t := spanLimit(v, unit); t.OK {
		*d = t
	}
	r.say(l, d.OK, endless(v, 4, int64(tenYears/unit)))
}

func (r *Resource) say(l Limits, limited, none bool) {
	switch {
	case limited:
		r.Unlimited &^= l
	case none:
		r.Unlimited |= l
	}
}

// endless reports whether a published limit says that there is none: the largest number of a type, nines alone, at least so
// many, or more than any limit. Fours alone, zero and what is negative say that nobody knows.
func endless(v []byte, nines int, most int64) bool {
	n, ok := parseInt(v)
	switch {
	case !ok || n < 1000 || n == deadResponse || repeats(n, 4, nines):
		return false
	case n == maxInt32 || n == maxInt32-1 || n == maxUint32 || n == 1<<63-1:
		return true
	}
	return repeats(n, 9, nines) || n > most
}

// limited reports which limits have a value.
func (r *Resource) limited() (l Limits) {
	for i, ok := range [...]bool{r.MaxWallTime.OK, r.MaxCPUTime.OK, r.MaxRunning.OK, r.MaxWaiting.OK, r.MaxTotal.OK, r.MaxPreLRMSWaiting.OK,
		r.MaxUserRunning.OK, r.MaxSlotsPerJob.OK, r.MaxMemory.OK, r.MaxVirtualMemory.OK, r.MaxDisk.OK} {
		if ok {
			l |= 1 << i
		}
	}
	return l
}

// atMost answers for an attribute that is a limit.
func atMost(l Limits, get Getter) Getter {
	return func(r *Resource) (classad.Value, bool) {
		v, ok := get(r)
		if !ok && r.Free(l) {
			return classad.IntValue(noLimit), true
		}
		return v, ok
	}
}

// LimitOf is the limit that an attribute with that name (any case) tells; 0 where it tells none.
func LimitOf(name string) Limits { return limitsByName[string(lowerInto(nil, name))] }

// limitsByName is the attributes that tell limits: those that a resource has because it says that a limit is none.
var limitsByName = func() map[string]Limits {
	m := map[string]Limits{}
	var r Resource // one for all, since every command begins with this
	for name, a := range attributes {
		r.Unlimited = 0
		if _, always := a.get(&r); always {
			continue
		}
		for i := range limitNames {
			r.Unlimited = 1 << i
			if _, ok := a.get(&r); ok {
				m[name] = 1 << i
			}
		}
	}
	return m
}()
