package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"net/http"
	"os"
	"strings"
	"time"

	"gridbroker/durable"
	"gridbroker/forecast/wire"
)

// published is what the scheduler has of a cluster after some delta.
type published struct {
	set    wire.Set
	seq    uint64
	jobs   *toldJobs
	put    []wire.Entry // what jobs do not have yet
	left   []string     // and what they still have
	queues []wire.Queue
	load   *wire.Load
	site   *wire.Site
}

// taken is this state where the scheduler is known to have it.
func (p *published) taken() *published {
	p.jobs.take(p.put, p.left)
	p.put, p.left = nil, nil
	return p
}

// is tells whether an answer is of this state.
func (p *published) is(ack *wire.Ack) bool {
	return p != nil && !ack.Resync && ack.Seq == p.seq && ack.Digest == p.set.Digest()
}

// resolve asks the scheduler what it has, where that is in doubt: after an
// outage, or a restart of this agent. Only where it is neither what was there
// before nor what was sent, all is sent again.
func (a *Agent) resolve(ctx context.Context) error {
	if a.doubt == nil {
		return nil
	}
	ack, err := a.Link.Have(ctx)
	if no, refused := errors.AsType[*RefusedError](err); refused && no.Code == http.StatusNotFound {
		a.known, a.doubt = nil, nil
		return nil
	}
	if err != nil {
		return err
	}
	switch {
	case a.doubt.is(ack):
		a.known = a.doubt.taken()
	case !a.known.is(ack):
		a.meet(ack.Seq)
		a.known = nil
		a.Log.Info("the scheduler has another state than this agent: all is sent again", "seq", ack.Seq)
	}
	a.doubt, a.seq = nil, max(a.seq, ack.Seq)
	if a.known != nil {
		a.seq = a.known.seq
	}
	a.bookings(ack.Bookings)
	return nil
}

// ask looks what is booked here, where there is nothing to be told.
func (a *Agent) ask(ctx context.Context) error {
	ack, err := a.Link.Have(ctx)
	if err != nil {
		return err
	}
	a.bookings(ack.Bookings)
	return nil
}

// send publishes. After anything but a plain yes it is in doubt what the
// scheduler has.
func (a *Agent) send(ctx context.Context, d *wire.Delta, next *published) error {
	kind := "delta"
	if d.Full {
		kind = "full"
	}
	d.Booked = wire.MarkOf(bookedNow(a), d.Made).String()
	a.doubt = next
	ack, err := a.Link.Delta(ctx, d)
	if err != nil {
		a.Meter.deltas.WithLabelValues(kind, "failed").Inc()
		return err
	}
	a.meet(ack.Seq)
	a.doubt, a.seq = nil, max(a.seq, ack.Seq)
	if !next.is(ack) {
		a.Meter.deltas.WithLabelValues(kind, "resync").Inc()
		a.Log.Info("the scheduler asks for a full set", "seq", ack.Seq)
		a.known = nil
		return nil
	}
	a.Meter.deltas.WithLabelValues(kind, "taken").Inc()
	a.Meter.published.SetToCurrentTime()
	a.known, a.sent = next.taken(), a.Now()
	if !ack.Same {
		a.bookings(ack.Bookings)
	}
	return nil
}

// mostBookings is how many bookings are believed at most: they are held against every job that waits, and a cluster
// has some for each of its processors, and those in its queue.
func mostBookings(a *Agent) int {
	n := 1000 + a.Conf.Turns
	for i := range a.latest.Nodes {
		n += 8 * max(0, a.latest.Nodes[i].CPUs)
	}
	return n
}

func (a *Agent) bookings(list []wire.Booking) {
	a.Meter.bookings.Set(float64(len(list)))
	now := a.Now().Unix()
	a.mu.Lock()
	defer a.mu.Unlock()
	out := max(0, len(list)-mostBookings(a))
	if out != a.leftOut {
		a.Log.Warn("the scheduler has more bookings here than this cluster can have: the last are not believed", "bookings", len(list), "left_out", out)
	}
	a.leftOut = out
	a.Meter.leftOut.Set(float64(out))
	list = list[:len(list)-out]
	if wire.MarkOf(list, now) != wire.MarkOf(a.booked, now) {
		a.until = time.Time{} // whose the jobs in the queue are, and so what is free for others, is to be seen anew
	}
	a.booked = list
}

// memory is what an agent keeps over its restarts.
type memory struct {
	Schema  string          `json:"schema"`
	Cluster string          `json:"cluster"`
	Learned json.RawMessage `json:"learned,omitempty"` // of batch
	Odds    json.RawMessage `json:"odds,omitempty"`    // of batch/predict
	Held    *slotOdds       `json:"slot_odds,omitempty"`
	Fit     json.RawMessage `json:"fit,omitempty"` // of policies
	Loss    *loss           `json:"loss,omitempty"`
	Seq     uint64          `json:"seq"`
	Slots   []wire.Slot     `json:"slots"`
	Jobs    []wire.Entry    `json:"jobs"`
	Queues  []wire.Queue    `json:"queues"`
	Load    *wire.Load      `json:"load"`
	Site    *wire.Site      `json:"site"`
}

const memorySchema = "grid.agent-memory/v1"

// saveWait is the least time between two writings of the memory.
const saveWait = 30 * time.Second

// save writes the memory, now and then or at once.
func (a *Agent) save(atOnce bool) error {
	if a.Conf.Memory == "" || a.live == nil || !atOnce && a.Now().Sub(a.saved) < saveWait {
		return nil
	}
	a.saved = a.Now()
	learned, err := a.live.Memory()
	if err != nil {
		return err
	}
	odds, err := json.Marshal(a.odds)
	if err != nil {
		return err
	}
	m := memory{Schema: memorySchema, Cluster: a.Conf.Cluster, Learned: learned, Odds: odds, Held: a.slotOdds, Loss: &a.loss, Seq: a.seq}
	if a.fit != nil {
		if m.Fit, err = json.Marshal(a.fit); err != nil {
			return err
		}
	}
	if p := a.known; p != nil {
		p.set.All(func(v wire.Slot) { m.Slots = append(m.Slots, v) })
		m.Jobs, m.Queues, m.Load, m.Site = p.jobs.list(), p.queues, p.load, p.site
	}
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if err := durable.WriteFile(a.Conf.Memory, fmt.Appendf(text, "\n%s\n", sumOf(text))); err != nil {
		return fmt.Errorf("%w: %w", errUnkept, err)
	}
	return nil
}

var errUnkept = errors.New("the memory was not written")

// maxMemory bounds the file, in bytes.
const maxMemory = 256 << 20

// sumOf is the checksum of a memory's text, which stands in a line behind it.
func sumOf(text []byte) string { return fmt.Sprintf("crc32:%08x", crc32.ChecksumIEEE(text)) }

var errDamaged = errors.New("its checksum is another: the file is damaged")

// remember reads the memory. What cannot be read is kept beside it, for the agent will write another in its place.
func remember(a *Agent) {
	err := a.recall()
	if err == nil {
		return
	}
	aside := a.Conf.Memory + ".unread"
	if moved := os.Rename(a.Conf.Memory, aside); moved != nil {
		a.Log.Warn("what was remembered is lost", "file", a.Conf.Memory, "error", err)
		return
	}
	a.Log.Warn("what was remembered is not used, and was set aside", "file", a.Conf.Memory, "as", aside, "error", err)
}

// recall reads the memory. What was published is in doubt until the scheduler
// has been asked.
func (a *Agent) recall() error {
	if a.Conf.Memory == "" {
		return nil
	}
	text, err := durable.ReadFile(a.Conf.Memory, maxMemory)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	text, sum, summed := bytes.Cut(text, []byte("\n"))
	if summed && strings.TrimSpace(string(sum)) != sumOf(text) { // older versions wrote none
		return errDamaged
	}
	m := &memory{}
	if err := json.Unmarshal(text, m); err != nil {
		return err
	}
	if m.Schema != memorySchema || m.Cluster != a.Conf.Cluster {
		return &wire.FieldError{Field: "schema", Why: "it is of another cluster or another program"}
	}
	a.recalled, a.seq = m, m.Seq
	a.slotOdds.recall(m.Held)
	a.loss.recall(m.Loss)
	if len(m.Odds) > 0 {
		if err := json.Unmarshal(m.Odds, a.odds); err != nil {
			a.Log.Warn("the odds learned before are lost", "error", err)
		}
	}
	p := &published{seq: m.Seq, jobs: newToldJobs(), queues: m.Queues, load: m.Load, site: m.Site}
	for _, v := range m.Slots {
		p.set.Put(v)
	}
	p.jobs.take(m.Jobs, nil)
	if m.Site != nil {
		a.doubt = p
	}
	return nil
}
