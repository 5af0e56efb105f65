package htcondor

import (
	"maps"
	"slices"
	"strings"

	"gridbroker/jdl/classad"
)

// slotKind are slots that are alike in all that START looks at.
type slotKind struct {
	record *classad.Ad // one of them, empty
	start  []classad.Expr
	run    *classad.Evaluation
}

func newSlotKind(s slot) *slotKind {
	r := lookingOver(s.empty(nil))
	k := &slotKind{record: r, run: classad.NewEvaluation(r)}
	if e, ok := r.Expr("Start"); ok {
		k.start = slices.DeleteFunc(flatten(e), passing)
	}
	return k
}

// refuses tells whether START refuses a job for ever: not where that passes, or cannot be evaluated here.
func (k *slotKind) refuses(job *classad.Ad) bool {
	return slices.ContainsFunc(k.start, func(c classad.Expr) bool { return refuses(k.run.Eval(c, job)) })
}

// emptied are the attributes of a slot that tell what is left of it, and those that tell what it has.
var emptied = map[string]string{"cpus": "TotalSlotCpus", "memory": "TotalSlotMemory", "disk": "TotalSlotDisk", "gpus": "TotalSlotGPUs"}

// empty is the slot's record as if it had no jobs; of some names alone where there are any.
func (s slot) empty(names []string) *classad.Ad {
	r := s.record
	if names == nil {
		r = r.Clone()
	} else {
		r = classad.NewAd()
		for _, n := range names {
			if e, ok := s.record.Expr(n); ok {
				r.Set(n, e)
			}
		}
	}
	for left, all := range emptied {
		if e, ok := s.record.Expr(all); ok {
			r.Set(left, e)
		}
	}
	return r
}

// sortedSlots are slots to hold kinds of jobs against.
type sortedSlots struct {
	slots  []slot
	leads  map[string][]string // by attribute: what its expressions look at
	table  *classad.Table      // of the slots, empty
	kinds  []*slotKind
	kindOf []int32             // by slot
	lists  map[string][]string // names of slots, by which they are
	judged int                 // times that START was evaluated
	slow   int                 // kinds of jobs whose requirements took too long
}

// sortSlots makes slots ready for jobs that look at some names.
func sortSlots(slots []slot, names []string) *sortedSlots {
	s := &sortedSlots{slots: slots, leads: map[string][]string{}, lists: map[string][]string{}}
	seen := map[string]bool{}
	for _, sl := range slots {
		for _, t := range sl.record.Attrs() {
			if _, plain := t.Expr.(*classad.Literal); plain {
				continue
			}
			name := classad.Fold(t.Name)
			if key := name + "=" + classad.Unparse(t.Expr); !seen[key] {
				seen[key] = true
				s.leads[name] = append(s.leads[name], namesOf(t.Expr)...)
			}
		}
	}
	own := s.reached([]string{"start"})
	s.sort(own)
	all := s.reached(append(own, names...))
	rows := make([]*classad.Ad, len(slots))
	for i, sl := range slots {
		rows[i] = sl.empty(all)
	}
	s.table = classad.NewTable(rows)
	return s
}

// sort sorts the slots by what START looks at.
func (s *sortedSlots) sort(own []string) {
	known := map[string]int32{}
	for _, sl := range s.slots {
		sign := signature(sl.record, own)
		k, ok := known[sign]
		if !ok {
			k = int32(len(s.kinds))
			known[sign], s.kinds = k, append(s.kinds, newSlotKind(sl))
		}
		s.kindOf = append(s.kindOf, k)
	}
}

// place finds the slots that take a kind of jobs; false: all do, or it is not known.
func (s *sortedSlots) place(j *judge) (place, bool) {
	rows := j.meeting(s.table)
	if j.run.Err() != nil {
		s.slow++
		return place{}, false
	}
	meets := len(rows) > 0
	refused := make([]int8, len(s.kinds)) // 0: not asked, 1: no, 2: yes
	rows = slices.DeleteFunc(rows, func(r int32) bool {
		k := s.kindOf[r]
		if refused[k] == 0 {
			refused[k] = 1
			if s.judged++; s.kinds[k].refuses(j.record) {
				refused[k] = 2
			}
		}
		return refused[k] == 2
	})
	switch {
	case len(rows) == len(s.slots):
		return place{}, false
	case len(rows) > 0:
		return place{slots: s.named(rows)}, true
	case meets:
		return place{unfit: "START of every slot that meets its requirements refuses it"}, true
	}
	return place{unfit: "no slot of the pool meets its requirements"}, true
}

// named are the names of some slots; kinds of jobs that have the same share them.
func (s *sortedSlots) named(rows []int32) []string {
	bits := make([]byte, (len(s.slots)+7)/8)
	for _, r := range rows {
		bits[r/8] |= 1 << (r % 8)
	}
	if list, ok := s.lists[string(bits)]; ok {
		return list
	}
	list := make([]string, len(rows))
	for i, r := range rows {
		list[i] = s.slots[r].text("Name")
	}
	s.lists[string(bits)] = list
	return list
}

// reached are names and all that the expressions of slots under them look at, in order.
func (s *sortedSlots) reached(names []string) []string {
	in := map[string]bool{}
	for names = slices.Clone(names); len(names) > 0; {
		n := names[len(names)-1]
		names = names[:len(names)-1]
		if !in[n] {
			in[n] = true
			names = append(names, s.leads[n]...)
		}
	}
	return slices.Sorted(maps.Keys(in))
}

// signature is what a slot has under some names, but for what is fleeting.
func signature(r *classad.Ad, names []string) string {
	var b strings.Builder
	for _, n := range names {
		if all := emptied[n]; all != "" {
			n = all
		}
		if e, ok := r.Expr(n); ok && !fleeting[n] {
			b.WriteString(classad.Unparse(e))
		}
		b.WriteByte(0)
	}
	return b.String()
}

// fleeting are attributes of slots that are others soon, whatever the pool: no job is kept off a slot by them for ever.
var fleeting = lowered(`Activity State LoadAvg CondorLoadAvg TotalLoadAvg TotalCondorLoadAvg KeyboardIdle ConsoleIdle CpuBusy CpuBusyTime CpuIsBusy CurrentTime
	MyCurrentTime ClockMin ClockDay EnteredCurrentState EnteredCurrentActivity TotalTimeUnclaimedIdle VirtualMemory TotalVirtualMemory
	AvailableGPUs AssignedGPUs CurrentRank RemoteOwner RemoteUser JobId TotalJobRunTime LastHeardFrom MachineLastMatchTime NumDynamicSlots
	ChildCpus ChildMemory ChildState ChildActivity ChildRemoteUser ChildRemoteOwner ChildAccountingGroup Offline Draining RetirementTimeRemaining`)

// lowered makes a set of names in lower case.
func lowered(names string) map[string]bool { return among(classad.Fold(names)) }

// passing tells whether what a condition says may be otherwise soon: it speaks of time, or of what is fleeting.
func passing(e classad.Expr) (yes bool) {
	classad.Walk(e, func(x classad.Expr) bool {
		call, ok := x.(*classad.Call)
		yes = yes || ok && (classad.EqualFold(call.Name, "time") || classad.EqualFold(call.Name, "random"))
		return !yes
	})
	return yes || slices.ContainsFunc(namesOf(e), func(n string) bool { return fleeting[n] })
}

// namesOf are the attributes that an expression looks at, of whichever side, in lower case.
func namesOf(e classad.Expr) (names []string) {
	classad.Walk(e, func(x classad.Expr) bool {
		switch x := x.(type) {
		case *classad.AttrRef:
			names = append(names, classad.Fold(x.Name))
		case *classad.Select:
			names = append(names, classad.Fold(x.Name))
		}
		return true
	})
	return names
}

// namesIn are those that all expressions of a record look at.
func namesIn(r *classad.Ad) (names []string) {
	for _, t := range r.Attrs() {
		names = append(names, namesOf(t.Expr)...)
	}
	return names
}

// sides are the names of the sides of a match.
var sides = lowered("MY TARGET OTHER SELF PARENT")

// lookingOver is a record that looks for what it has not on the other side: see withFallback.
func lookingOver(r *classad.Ad) *classad.Ad {
	both := r.Clone()
	for _, n := range namesIn(r) {
		if _, own := both.Expr(n); !own && !sides[n] {
			both.Set(n, classad.NewSelect(classad.NewAttrRef("TARGET"), n))
		}
	}
	return both
}
