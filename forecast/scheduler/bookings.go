package scheduler

import (
	"context"
	"encoding/json"

	"gridbroker/forecast/wire"
)

// bookings are those at clusters, as a transaction has them.
type bookings interface {
	// book enters new ones, and close says how and when some have ended.
	book(ctx context.Context, rows []bookingRow, epoch int64) error
	close(ctx context.Context, rows []closedRow) error
	// of are those of a cluster that go on, of jobs that are there, in order of their beginnings.
	of(ctx context.Context, cluster string, now int64) ([]ongoing, error)
	// remove forgets those of a job.
	remove(ctx context.Context, job string) error
}

// bookingRow and closedRow are for bulk statements.
type bookingRow struct {
	Key     string       `json:"key"`
	Job     string       `json:"job"`
	Cluster string       `json:"cluster"`
	Begins  int64        `json:"begins"`
	Ends    int64        `json:"ends"`
	Procs   int32        `json:"procs"`
	Body    wire.Booking `json:"body"`
}

type closedRow struct {
	Key   string `json:"key"`
	State string `json:"state"`
	Ends  int64  `json:"ends"`
	job   string
}

// ongoing is a booking that goes on.
type ongoing struct {
	key     string
	ends    int64
	running bool
	text    []byte        // what the agent is told of it
	body    *wire.Booking // that, where it is in no table
}

// read is what the agent is told of it.
func (b *ongoing) read() (told wire.Booking, err error) {
	if b.body != nil {
		told = *b.body
	} else {
		err = json.Unmarshal(b.text, &told)
	}
	told.Running = b.running
	return told, err
}

// bookingsOf tells the agent what is booked at its cluster, unless that has the mark of
// what it knows.
func bookingsOf(ctx context.Context, at bookings, cluster string, now int64, ack *wire.Ack, known string) error {
	list, err := at.of(ctx, cluster, now)
	var mark wire.Mark
	for i := range list {
		mark.Add(list[i].key, list[i].ends, list[i].running, now)
	}
	if ack.Same = err == nil && mark.String() == known; err != nil || ack.Same {
		return err
	}
	ack.Bookings = make([]wire.Booking, len(list))
	for i := range list {
		if ack.Bookings[i], err = list[i].read(); err != nil {
			return err
		}
	}
	return nil
}

// bookingTable are the bookings in a table.
type bookingTable struct{ *statements }

// book implements bookings.
func (h bookingTable) book(ctx context.Context, rows []bookingRow, epoch int64) error {
	if len(rows) == 0 {
		return nil
	}
	return h.writeEach(ctx, `insert into booking (key, job, cluster, state, begins, ends, procs, epoch, body)
		select t.value->>'key', t.value->>'job', t.value->>'cluster', 'open', cast(t.value->>'begins' as {int}),
		cast(t.value->>'ends' as {int}), cast(t.value->>'procs' as {int}), $2, cast(t.value->'body' as text) from {each} where true`, rows, epoch)
}

// close implements bookings.
func (h bookingTable) close(ctx context.Context, rows []closedRow) error {
	if len(rows) == 0 {
		return nil
	}
	return h.writeEach(ctx, `update booking set state = t.value->>'state', ends = cast(t.value->>'ends' as {int})
		from {each} where booking.key = t.value->>'key'`, rows)
}

// of implements bookings.
func (h bookingTable) of(ctx context.Context, cluster string, now int64) (list []ongoing, err error) {
	err = h.rows(ctx, func(scan func(...any) error) error {
		var b ongoing
		var state State
		err := scan(&b.key, &b.ends, &b.text, &state)
		b.running = state == Running
		list = append(list, b)
		return err
	}, `select b.key, b.ends, b.body, q.state from booking b join queue q on q.id = b.job
		where b.cluster = $1 and b.state = 'open' and b.ends > $2 order by b.begins, b.key`, cluster, now)
	return list, err
}

// remove implements bookings.
func (h bookingTable) remove(ctx context.Context, job string) error {
	_, err := h.exec(ctx, "delete from booking where job = $1", job)
	return err
}
