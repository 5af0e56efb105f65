package wire

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"gridbroker/testdata/testbed"
)

// whole is a delta with something in every field.
func whole() *Delta {
	zero := strings.Repeat("0", 32)
	return &Delta{
		Schema: DeltaSchema, Cluster: "c", Seq: 7, Base: zero, Digest: zero, Made: noon, TTL: 60,
		Put:  []Slot{{ID: 1, Node: "n1", CPUs: 4, GPUs: 1, Memory: 1000, From: noon, To: noon + 60, Latest: noon + 30, Start: 0.5, Hold: 1, Priority: -3, Task: "t"}},
		Drop: []uint64{5},
		Jobs: []Entry{{Node: "n1", Task: "t", User: "u", Group: "g", State: "running", Queued: noon, Start: noon, Completion: noon + 9, Procs: 3, Memory: 1, Disk: 2,
			Priority: 4, Reserved: true, Spread: "n1=1,n2=2"}},
		JobsGone: []string{"old"}, Queues: []Queue{{"q", 1, 2}}, Load: &Load{1, 2, 3, 4, []Turn{{1, 1800, noon + 60, noon + 30, noon + 90}}},
		Site: &Site{LRMS: "slurm", Nodes: []Node{{Name: "n1", CPUs: 8, GPUs: 1, Memory: 1000, Disk: 2000, Features: []string{"f"}}}, Interface: "slurm",
			Endpoint: "slurm+ssh://h/d", Queue: "q", Start: Begin, Partition: "p", MaxGuest: 3600, Walls: map[string]int64{"": 3600, "q": 7200}, Function: "global / 2", Users: []string{"/DC=a"}, VOs: []string{"/vo"},
			Speed: 1.5, OutOfTurn: true, Turns: 8, Agent: "1.0", Chances: []Chance{{60, 0.9}, {120, 0.8}}},
	}
}

// TestWholeDeltaComesBack: every field that there is goes over the wire; what a
// newer version adds is passed over.
func TestWholeDeltaComesBack(t *testing.T) {
	want := whole()
	text, err := new(Packer).Delta(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeDelta(text, DefaultLimits())
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%v\ngot  %+v\nwant %+v", err, got, want)
	}
	plain, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	newer := `{"of_next_year":[{"a":1}],` + strings.Replace(string(plain[1:]), `"put":[{`, `"put":[{"colour":"red",`, 1)
	if got, err := DecodeDelta([]byte(newer), DefaultLimits()); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("of a newer version: %v", err)
	}
}

// TestEveryFieldIsChecked sets one field after the other to what cannot be: the
// error names it, and what is at the edge of what can be is taken.
func TestEveryFieldIsChecked(t *testing.T) {
	long, control, l := strings.Repeat("x", 257), "a\x1b[2J", DefaultLimits()
	l.Nodes, l.Users = 5, 5
	for field, spoil := range map[string][]func(d *Delta){
		"cluster":             {func(d *Delta) { d.Cluster = "" }, func(d *Delta) { d.Cluster = long }, func(d *Delta) { d.Cluster = control }},
		"made":                {func(d *Delta) { d.Made = minTime - 1 }, func(d *Delta) { d.Made = maxTime + 1 }},
		"ttl":                 {func(d *Delta) { d.TTL = -1 }, func(d *Delta) { d.TTL = maxSpan + 1 }},
		"digest":              {func(d *Delta) { d.Digest = "0" }, func(d *Delta) { d.Digest = strings.Repeat("G", 32) }},
		"base":                {func(d *Delta) { d.Base = strings.Repeat("0", 33) }},
		"jobs_gone":           {func(d *Delta) { d.JobsGone = []string{""} }},
		"put.id":              {func(d *Delta) { d.Put[0].ID = 1 << 53 }, func(d *Delta) { d.Put = append(d.Put, d.Put[0]) }},
		"put.node":            {func(d *Delta) { d.Put[0].Node = "" }, func(d *Delta) { d.Put[0].Node = "a\nb" }},
		"put.task":            {func(d *Delta) { d.Put[0].Task = control }},
		"put.cpus":            {func(d *Delta) { d.Put[0].CPUs = 0 }, func(d *Delta) { d.Put[0].CPUs = 1<<20 + 1 }},
		"put.gpus":            {func(d *Delta) { d.Put[0].GPUs = -1 }},
		"put.memory":          {func(d *Delta) { d.Put[0].Memory = -1 }, func(d *Delta) { d.Put[0].Memory = maxAmount + 1 }},
		"put.from":            {func(d *Delta) { d.Put[0].From = 0 }},
		"put.to":              {func(d *Delta) { d.Put[0].To = noon }, func(d *Delta) { d.Put[0].To = 5 }},
		"put.latest":          {func(d *Delta) { d.Put[0].Latest = -noon }},
		"put.start":           {func(d *Delta) { d.Put[0].Start = -0.1 }, func(d *Delta) { d.Put[0].Start = 1.1 }},
		"put.hold":            {func(d *Delta) { d.Put[0].Hold = 2 }},
		"put.priority":        {func(d *Delta) { d.Put[0].Priority = 1e16 }},
		"jobs.task":           {func(d *Delta) { d.Jobs[0].Task = "" }, func(d *Delta) { d.Jobs = append(d.Jobs, d.Jobs[0]) }},
		"jobs:":               {func(d *Delta) { d.Jobs[0].User = control }, func(d *Delta) { d.Jobs[0].Group = long }, func(d *Delta) { d.Jobs[0].Node = control }},
		"jobs.state":          {func(d *Delta) { d.Jobs[0].State = "" }},
		"jobs.spread":         {func(d *Delta) { d.Jobs[0].Spread = strings.Repeat("n", maxSpread+1) }, func(d *Delta) { d.Jobs[0].Spread = control }},
		"jobs.queued":         {func(d *Delta) { d.Jobs[0].Queued = 1 }},
		"jobs.start":          {func(d *Delta) { d.Jobs[0].Start = -1 }},
		"jobs.completion":     {func(d *Delta) { d.Jobs[0].Completion = maxTime + 1 }},
		"jobs.procs":          {func(d *Delta) { d.Jobs[0].Procs = -1 }},
		"jobs.memory":         {func(d *Delta) { d.Jobs[0].Memory = -1 }},
		"jobs.disk":           {func(d *Delta) { d.Jobs[0].Disk = maxAmount + 1 }},
		"jobs.priority":       {func(d *Delta) { d.Jobs[0].Priority = -1e16 }},
		"queues.name":         {func(d *Delta) { d.Queues[0].Name = control }},
		"queues.waiting":      {func(d *Delta) { d.Queues[0].Waiting = -1 }},
		"queues.running":      {func(d *Delta) { d.Queues[0].Running = maxAmount + 1 }},
		"load":                {func(d *Delta) { d.Load.Waiting = -1 }, func(d *Delta) { d.Load.Busy = maxAmount + 1 }, func(d *Delta) { d.Load.CPUs = -1 }, func(d *Delta) { d.Load.Running = -1 }},
		"site:":               {func(d *Delta) { d.Site.LRMS = control }, func(d *Delta) { d.Site.Interface = long }, func(d *Delta) { d.Site.Agent = control }},
		"site.endpoint":       {func(d *Delta) { d.Site.Endpoint = strings.Repeat("x", 2049) }, func(d *Delta) { d.Site.Endpoint = "https://h/" + control }},
		"site.function":       {func(d *Delta) { d.Site.Function = strings.Repeat("1", maxFunction+1) }},
		"site.start":          {func(d *Delta) { d.Site.Start = "" }, func(d *Delta) { d.Site.Start = "at once" }},
		"site.walls":          {func(d *Delta) { d.Site.Walls = map[string]int64{"q": -1} }},
		"site.max_guest":      {func(d *Delta) { d.Site.MaxGuest = -1 }},
		"site.speed":          {func(d *Delta) { d.Site.Speed = -1 }, func(d *Delta) { d.Site.Speed = 1e7 }},
		"site.nodes:":         {func(d *Delta) { d.Site.Nodes = make([]Node, 6) }},
		"site.nodes.name":     {func(d *Delta) { d.Site.Nodes[0].Name = "" }},
		"site.nodes.cpus":     {func(d *Delta) { d.Site.Nodes[0].CPUs = -1 }},
		"site.nodes.gpus":     {func(d *Delta) { d.Site.Nodes[0].GPUs = 1<<20 + 1 }},
		"site.nodes.memory":   {func(d *Delta) { d.Site.Nodes[0].Memory = -1 }},
		"site.nodes.disk":     {func(d *Delta) { d.Site.Nodes[0].Disk = -1 }},
		"site.nodes.features": {func(d *Delta) { d.Site.Nodes[0].Features = []string{control} }, func(d *Delta) { d.Site.Nodes[0].Features = make([]string, 1001) }},
		"site.users":          {func(d *Delta) { d.Site.Users = make([]string, 6) }, func(d *Delta) { d.Site.Users = []string{control} }},
		"site.vos":            {func(d *Delta) { d.Site.VOs = []string{""} }},
		"site.chances":        {func(d *Delta) { d.Site.Chances = make([]Chance, 101) }},
		"site.chances.ahead":  {func(d *Delta) { d.Site.Chances[1].Ahead = 60 }, func(d *Delta) { d.Site.Chances[0].Ahead = -1 }},
		"site.chances.start":  {func(d *Delta) { d.Site.Chances[1].Start = 1.01 }},
	} {
		for i, f := range spoil {
			d := whole()
			f(d)
			text, err := json.Marshal(d)
			if err != nil {
				t.Fatal(err)
			}
			_, err = DecodeDelta(text, l)
			if e, ok := errors.AsType[*FieldError](err); !ok || !strings.HasPrefix(err.Error(), strings.TrimSuffix(field, ":")) || strings.HasSuffix(field, ":") && e.Field != strings.TrimSuffix(field, ":") {
				t.Errorf("%s, %d: %v", field, i, err)
			}
			if err != nil && strings.ContainsRune(err.Error(), 0x1b) {
				t.Errorf("%s: the message moves the cursor: %q", field, err)
			}
		}
	}
	edge := whole()
	edge.TTL, edge.Put[0].ID, edge.Put[0].CPUs, edge.Put[0].Start, edge.Put[0].To, edge.Put[0].Latest = maxSpan, 1<<53-1, 1<<20, 0, 0, 0
	edge.Cluster, edge.Site.Function, edge.Jobs[0].State, edge.Made = long[:256], strings.Repeat("1", maxFunction), "held", maxTime
	text, err := new(Packer).Delta(edge)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := DecodeDelta(text, l); err != nil {
		t.Errorf("at the edge: %v", err)
	}
}

// TestAcks: an answer to a delta is read only where all its bookings can be.
func TestAcks(t *testing.T) {
	testbed.Computes(t)
	good := func() *Ack {
		return &Ack{Schema: AckSchema, Seq: 1, Digest: strings.Repeat("a", 32), Bookings: []Booking{{Schema: BookingSchema, Job: "j", Key: "k", From: noon, To: noon + 1, Procs: 2,
			Way: Plain, Slots: []Part{{Slot: 1, Node: "n", CPUs: 2}}}}}
	}
	for field, spoil := range map[string]func(a *Ack){
		"":                    func(*Ack) {},
		"schema":              func(a *Ack) { a.Schema = DeltaSchema },
		"digest":              func(a *Ack) { a.Digest = "" },
		"bookings":            func(a *Ack) { a.Bookings = make([]Booking, 200_001) },
		"bookings.job":        func(a *Ack) { a.Bookings[0].Job = "a\nb" },
		"bookings.key":        func(a *Ack) { a.Bookings[0].Key = "" },
		"bookings.from":       func(a *Ack) { a.Bookings[0].From = 0 },
		"bookings.to":         func(a *Ack) { a.Bookings[0].To = noon },
		"bookings.procs":      func(a *Ack) { a.Bookings[0].Procs = 0 },
		"bookings.way":        func(a *Ack) { a.Bookings[0].Way = "somehow" },
		"bookings.slots":      func(a *Ack) { a.Bookings[0].Slots = make([]Part, 50_001) },
		"bookings.slots.slot": func(a *Ack) { a.Bookings[0].Slots[0].Slot = 1 << 60 },
		"bookings.slots.node": func(a *Ack) { a.Bookings[0].Slots[0].Node = "" },
		"bookings.slots.cpus": func(a *Ack) { a.Bookings[0].Slots[0].CPUs = -2 },
	} {
		a := good()
		spoil(a)
		text, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		got, err := DecodeAck(text, DefaultLimits())
		if field == "" {
			if err != nil || !reflect.DeepEqual(got, a) {
				t.Errorf("%+v, %v", got, err)
			}
			continue
		}
		if e, ok := errors.AsType[*FieldError](err); !ok || e.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	if _, err := DecodeAck(bytes.Repeat([]byte(" "), 100), Limits{Bytes: 99}); !errors.Is(err, ErrTooLong) {
		t.Errorf("a long one: %v", err)
	}
}

// TestCutDeltas: no beginning of a delta, packed or not, is taken for one, and
// none brings more out of it than may be.
func TestCutDeltas(t *testing.T) {
	packed, err := new(Packer).Delta(whole())
	if err != nil {
		t.Fatal(err)
	}
	plain, err := json.Marshal(whole())
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range [][]byte{packed, plain} {
		for n := range text {
			if _, err := DecodeDelta(text[:n], DefaultLimits()); err == nil {
				t.Fatalf("%d bytes of %d are taken", n, len(text))
			}
		}
	}
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	z.Write(bytes.Repeat([]byte(" "), 10<<20))
	z.Close()
	l := DefaultLimits()
	l.Bytes = 1 << 20
	if _, err := DecodeDelta(bomb.Bytes(), l); !errors.Is(err, ErrTooLong) {
		t.Errorf("%d bytes that are 10 MB: %v", bomb.Len(), err)
	}
}

// TestShares: where a job of several nodes is.
func TestShares(t *testing.T) {
	for spread, want := range map[string]string{
		"": "[{n 8}]", "a=1,b=2": "[{a 1} {b 2}]", "a=1,b=,=3,c,d=x,e=-1,f=0,g=99999999999": "[{a 1}]", "a": "[{n 8}]", ",": "[{n 8}]", "a=b=1": "[{n 8}]",
	} {
		e := Entry{Spread: spread, Node: "n", Procs: 8}
		if got := fmt.Sprint(e.Shares()); got != want {
			t.Errorf("%q: %s, want %s", spread, got, want)
		}
	}
	if list := Shares("", "", 8); len(list) > 0 {
		t.Errorf("nowhere: %v", list)
	}
}

// free counts the processors that slots have at each second of a stretch of time.
func free(slots []Slot, node string, from, n int64) []int64 {
	list := make([]int64, n)
	for _, v := range slots {
		for i := range list {
			if at := from + int64(i); v.Node == node && v.From <= at && (v.To == 0 || at < v.To) {
				list[i] += int64(v.CPUs)
			}
		}
	}
	return list
}

// TestSubtractAgainstSeconds: what bookings leave of slots, counted second by
// second. A booking that lies within its slot takes just what it is of; nothing
// ever grows, and nodes without bookings keep what they have.
func TestSubtractAgainstSeconds(t *testing.T) {
	const span = 40
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 9))
		var slots []Slot
		var list []Booking
		taken := map[string][]int64{"a": make([]int64, span), "b": make([]int64, span), "c": make([]int64, span)}
		for id := range uint64(3 + r.IntN(4)) {
			from := noon + r.Int64N(span/2)
			v := Slot{ID: id + 1, Node: string(rune('a' + r.IntN(2))), CPUs: 1 + r.Int32N(6), From: from, To: from + 1 + r.Int64N(span/2)}
			if r.IntN(4) == 0 {
				v.To = 0
			}
			slots = append(slots, v)
			left := v.CPUs
			for left > 0 && r.IntN(3) > 0 { // bookings that may lie over each other
				n := 1 + r.Int32N(left)
				left -= n
				end := v.To
				if end == 0 {
					end = noon + span
				}
				b := Booking{From: v.From + r.Int64N(end-v.From), Procs: n, Slots: []Part{{v.ID, v.Node, n}}}
				b.To = b.From + 1 + r.Int64N(end-b.From)
				list = append(list, b)
				for at := b.From; at < b.To; at++ {
					taken[v.Node][at-noon] += int64(n)
				}
			}
		}
		slots = append(slots, Slot{ID: 99, Node: "c", CPUs: 3, From: noon})
		before := map[string][]int64{}
		for node := range taken {
			before[node] = free(slots, node, noon, span)
		}
		after := Subtract(append([]Slot(nil), slots...), Uses(list))
		for node, was := range before {
			is := free(after, node, noon, span)
			for i := range is {
				if is[i] != was[i]-taken[node][i] {
					t.Fatalf("seed %d, node %s, second %d: %d of %d are left, %d are booked\nslots %+v\nbookings %+v\nleft %+v", seed, node, i, is[i], was[i], taken[node][i], slots, list, after)
				}
			}
		}
	}
}
