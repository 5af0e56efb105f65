package scheduler

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"gridbroker/plugins"
)

// kind is the type of a message to the leader.
type kind string

const (
	kindJob     kind = "job"     // was submitted; body: its id
	kindCancel  kind = "cancel"  // body: the job's id
	kindRefresh kind = "refresh" // body: refreshed
	kindForget  kind = "forget"  // body: the job's id
	kindSlots   kind = "slots"   // body: slotsMessage
	kindSeen    kind = "seen"    // body: seen
	kindResult  kind = "result"  // body: result
	kindDrain   kind = "drain"   // body: drained
)

// message is one that the leader has taken.
type message struct {
	id   int64
	kind kind
	body []byte
	key  string // where it was in no table
	said any    // and what was said; nil: body is that
}

// said is what a message says.
func said[T any](m *message) (v T, err error) {
	if v, same := m.said.(T); same {
		return v, nil
	}
	text := m.body
	if m.said != nil {
		if text, err = json.Marshal(m.said); err != nil {
			return v, err
		}
	}
	return v, json.Unmarshal(text, &v)
}

// refreshed is a new description or priority of a waiting job, or its hold or release: a program of the version
// before takes that for a change of nothing.
type refreshed struct {
	Job      string   `json:"job"`
	Who      string   `json:"who"`
	JDL      string   `json:"jdl,omitempty"`
	Priority *float64 `json:"priority,omitempty"`
	Hold     *bool    `json:"hold,omitempty"`
}

type drained struct {
	Cluster string `json:"cluster"`
	Who     string `json:"who"`
	Drained bool   `json:"drained"`
}

// slotsMessage tells that a cluster's slots have changed. A full set, and a delta that is
// not in the message and is not among what this process has taken in, is read from the table.
type slotsMessage struct {
	Cluster string `json:"cluster"`
	Full    bool   `json:"full,omitempty"`
	Delta   []byte `json:"delta,omitempty"` // wire.Delta, gzipped
	// Seq, Made and Digest are those of the delta.
	Seq    uint64 `json:"seq,omitempty"`
	Made   int64  `json:"made,omitempty"`
	Digest string `json:"digest,omitempty"`
}

// seen is what a site says of a job.
type seen struct {
	Job     string        `json:"job"`
	Request string        `json:"request"` // of which booking
	State   plugins.State `json:"state"`
	Native  string        `json:"native,omitempty"`
	Reason  string        `json:"reason,omitempty"`
	Node    string        `json:"node,omitempty"`
	Exit    *int          `json:"exit,omitempty"`
	Started int64         `json:"started,omitempty"`
	Ended   int64         `json:"ended,omitempty"`
}

// result is what became of an action.
type result struct {
	Action  int64          `json:"action"`
	Job     string         `json:"job"`
	Verb    verb           `json:"verb"`
	Key     string         `json:"key"`
	Handle  plugins.Handle `json:"handle,omitzero"`
	Kind    plugins.Kind   `json:"kind,omitempty"` // of the failure; 0: none
	Said    string         `json:"said,omitempty"`
	Status  *seen          `json:"status,omitempty"`
	Output  []string       `json:"output,omitempty"`
	Seconds float64        `json:"seconds,omitempty"`
	Number  int            `json:"number,omitempty"`  // the greatest that a request of the job at a site was found to have
	Late    bool           `json:"late,omitempty"`    // its slot went by while it was being sent, again and again
	Cluster string         `json:"cluster,omitempty"` // where it was found

	untaken   bool // the site is known not to have it
	unasked   bool // it ended for a reason of the job's, its owner's or this scheduler's
	cleanable bool // the site has it, and nobody needs that
}

// mail is what waits for the leader, as a transaction has it.
type mail interface {
	// post leaves a message; one with a key that is there already is left out.
	post(ctx context.Context, k kind, key string, body any) error
	// take takes the oldest, in order of arrival.
	take(ctx context.Context, limit int) ([]message, error)
}

// messageTable is the mail in a table.
type messageTable struct{ *statements }

// post implements mail.
func (h messageTable) post(ctx context.Context, k kind, key string, body any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return h.write(ctx, "insert into message (kind, key, body) values ($1, $2, $3) on conflict (key) do nothing", string(k), key, text)
}

// take implements mail.
func (h messageTable) take(ctx context.Context, limit int) ([]message, error) {
	var list []message
	err := h.rows(ctx, func(scan func(...any) error) error {
		var m message
		if err := scan(&m.id, &m.kind, &m.body); err != nil {
			return err
		}
		list = append(list, m)
		return nil
	}, fmt.Sprintf(`delete from message where id in (select id from message order by id limit %d {for update})
		returning id, kind, body`, limit))
	slices.SortFunc(list, func(a, b message) int { return cmp.Compare(a.id, b.id) })
	return list, err
}
