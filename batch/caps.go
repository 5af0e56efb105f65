package batch

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strconv"
	"time"
)

// Cap is how much of something jobs may have at once, all of them together: licences, or what a limit of a
// QOS or an association lets run. The policy slurm alone keeps to it, as Slurm does: it is looked at when a job is to start, and
// who would have more is passed by.
type Cap struct {
	Name string
	Most int
	// Planned: backfill gives a job that it keeps from starting a place in the future nevertheless. Slurm does so where
	// processors, nodes, memory or GPUs are limited, and not where jobs or licences are.
	Planned bool
	Later   []More
	// Every and Since, the same of all Caps that have them: what running jobs have of it by a Rate is counted anew every so
	// long from some time on, as Slurm does in each PriorityCalcPeriod with what they still have to run.
	Every time.Duration
	Since time.Time
}

// More is what jobs may have besides from a time on, as licences that a reservation keeps until then.
type More struct {
	At     time.Time
	Amount int
}

// Take is how much a job has of a Cap from its start to its end.
type Take struct {
	Cap    string
	Amount int
	Free   bool // it counts for others, and does not keep the job itself from starting
	// Rate is by how much what it has becomes less each second that it runs, where a Cap has Every.
	Rate int
}

// caps are those of a machine, by number.
type caps struct {
	margin
	wanes
	of      map[string]int32 // numbers by names; never changed, as copies of the machine share it
	all     []int64          // what jobs may ever have
	planned []bool
	later   []more   // in order of time
	kinds   [][]take // what jobs have of them, by kind of job; the first is nothing. Copies of the machine share it: it only grows
}

// margin is what is left of caps, and which kinds of jobs that lets start, and lets have places in the future: both are worked out
// when they are asked for the first time since it changed, so that jobs are passed over by kind.
type margin struct {
	left    []int64
	letting []bool
	giving  []bool
	due     int64 // when counting anew lets some of so many kinds start, if nothing else happens
	dueOf   int   // 0: that is not known
}

type more struct {
	at     int64
	cap    int32
	amount int64
}

// take is a Take by numbers.
type take struct {
	cap    int32
	amount int64
	free   bool
	rate   int64
}

// caps sets up what jobs may have.
func (s *State) caps() (c caps) {
	c.of, c.kinds = make(map[string]int32, len(s.Caps)), make([][]take, 1)
	for i := range s.Caps {
		most := int64(s.Caps[i].Most)
		if _, again := c.of[s.Caps[i].Name]; !again {
			c.of[s.Caps[i].Name] = int32(i)
		}
		if every := int64(s.Caps[i].Every / time.Second); every > 0 {
			c.wanes.every, c.wanes.since = every, s.Caps[i].Since.Unix()
			c.counted = c.wanes.last(s.Now.Unix())
		}
		c.left, c.planned = append(c.left, most), append(c.planned, s.Caps[i].Planned)
		for _, l := range s.Caps[i].Later {
			c.later = append(c.later, more{l.At.Unix(), int32(i), int64(l.Amount)})
			most += int64(l.Amount)
		}
		c.all = append(c.all, most)
	}
	if c.every > 0 {
		c.rates, c.young = make([]int64, len(c.left)), make([]int64, len(c.left))
	}
	slices.SortStableFunc(c.later, func(a, b more) int { return cmp.Compare(a.at, b.at) })
	return c
}

// takes are those of a job that there are caps for, and the kind of jobs that have the same.
func (c *caps) takes(j *Job, kinds *numbers[string]) (list []take, kind int32) {
	var name []byte
	for _, t := range j.Takes {
		if i, ok := c.of[t.Cap]; ok && t.Amount > 0 {
			list = append(list, take{i, int64(t.Amount), t.Free, c.rate(&t)})
			name = binary.AppendUvarint(binary.AppendUvarint(binary.AppendUvarint(name, uint64(i)), uint64(t.Amount)), uint64(c.rate(&t)))
			name = strconv.AppendBool(name, t.Free)
		}
	}
	if len(list) == 0 {
		return nil, 0
	}
	if kind = int32(kinds.of(string(name))); int(kind) == len(c.kinds) {
		c.kinds = append(c.kinds, list)
	}
	return c.kinds[kind], kind
}

// beyond names a cap of which a job would have more than all may ever have.
func (c *caps) beyond(j *Job) (name string, most int64) {
	for _, t := range j.Takes {
		if i, ok := c.of[t.Cap]; ok && !t.Free && int64(t.Amount) > c.all[i] {
			return t.Cap, c.all[i]
		}
	}
	return "", 0
}

// clone copies them.
func (c caps) clone() caps {
	c.margin, c.kinds, c.wanes = c.margin.copy(margin{}), slices.Clip(c.kinds), c.wanes.clone()
	return c
}

// copy copies what is left into the memory of an older copy.
func (r *margin) copy(old margin) margin {
	return margin{left: append(old.left[:0], r.left...), letting: old.letting[:0], giving: old.giving[:0]}
}

// change adds to what is left of something.
func (r *margin) change(cap int32, by int64) {
	r.left[cap] += by
	r.letting, r.giving, r.dueOf = r.letting[:0], r.giving[:0], 0
}

// lettable tells of each kind of jobs whether lets does, and plannable whether plans does.
func (c *caps) lettable() []bool {
	for k := len(c.letting); k < len(c.kinds); k++ {
		c.letting = append(c.letting, c.lets(c.kinds[k]))
	}
	return c.letting
}

func (c *caps) plannable() []bool {
	for k := len(c.giving); k < len(c.kinds); k++ {
		c.giving = append(c.giving, c.plans(c.kinds[k]))
	}
	return c.giving
}

// any tells whether there are any.
func (c *caps) any() bool { return len(c.left) > 0 }

// lets tells whether there is as much left as a job would have.
func (c *caps) lets(takes []take) bool {
	return !slices.ContainsFunc(takes, func(t take) bool { return !t.free && c.left[t.cap] < t.amount })
}

// plans tells whether a job may have a place in the future.
func (c *caps) plans(takes []take) bool {
	return !slices.ContainsFunc(takes, func(t take) bool { return !t.free && !c.planned[t.cap] && c.left[t.cap] < t.amount })
}

// begun takes what a job has that starts, or has started before; ended gives it back.
func (c *caps) begun(j *job) {
	for _, t := range j.takes {
		c.change(t.cap, c.wanes.begun(t, j.start)-t.amount)
	}
}

func (c *caps) ended(j *job) {
	for _, t := range j.takes {
		c.change(t.cap, t.amount-c.wanes.ended(t, j.start))
	}
}

// next is when there is more, of what jobs run off only where that lets some start.
func (c *caps) next() int64 {
	at := never
	if len(c.later) > 0 {
		at = c.later[0].at
	}
	if c.every > 0 {
		at = min(at, c.counts())
	}
	return at
}

// counts is when counting anew lets a kind of jobs start that may not now, where nothing else happens; never: it does not.
func (c *caps) counts() int64 {
	if c.dueOf != len(c.kinds) {
		c.due, c.dueOf = never, len(c.kinds)
		for _, takes := range c.kinds {
			c.due = min(c.due, c.wanes.lets(c.left, takes))
		}
	}
	return c.due
}

// refill takes in what there is more by a time, and tells whether that is anything.
func (c *caps) refill(now int64) (any bool) {
	if c.every > 0 && c.wanes.last(now) > c.counted {
		any = c.counts() <= now
		c.wanes.count(now, c.change)
		c.dueOf = 0
	}
	for ; len(c.later) > 0 && c.later[0].at <= now; c.later = c.later[1:] {
		c.change(c.later[0].cap, c.later[0].amount)
		any = true
	}
	return any
}
