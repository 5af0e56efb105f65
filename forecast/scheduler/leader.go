package scheduler

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// ErrDeposed is a transaction of a leader who is no longer it.
var ErrDeposed = errors.New("another replica leads now")

// Leadership is one replica's time as leader. Lost is closed when it ends.
type Leadership struct {
	Epoch int64
	Woken <-chan struct{} // somebody has left a message
	Lost  <-chan struct{}
	end   func()
}

// Resign ends it.
func (l *Leadership) Resign() { l.end() }

// The lock's number, how often a leader shows the server that it lives, and
// after how long without that the server gives its lock to another.
const (
	lockNumber = 0x67726964 // "grid"
	heartbeat  = time.Second
	hungAfter  = 3 * time.Second
)

// Campaign waits until this replica leads.
func (s *Store) Campaign(ctx context.Context, name string) (*Leadership, error) {
	if s.Embedded() {
		return campaignFile(ctx, s, name)
	}
	conn, err := pgx.Connect(ctx, s.dsn)
	if err != nil {
		return nil, err
	}
	if err := lock(ctx, conn); err != nil {
		conn.Close(context.WithoutCancel(ctx))
		return nil, err
	}
	epoch, err := depose(ctx, s, conn, name)
	if err != nil {
		conn.Close(context.WithoutCancel(ctx))
		return nil, err
	}
	woken, lost := make(chan struct{}, 1), make(chan struct{})
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer close(lost)
		defer cancel()
		listen(ctx, conn, woken)
	}()
	return &Leadership{Epoch: epoch, Woken: woken, Lost: lost, end: cancel}, nil
}

// lock waits for the lock on a session of its own, which the server ends when
// it hears nothing of us.
func lock(ctx context.Context, conn *pgx.Conn) error {
	for _, q := range []string{
		"set statement_timeout = 0", // whatever the role's is: who waits for his turn may wait for long
		"set lock_timeout = 0",
		"set idle_session_timeout = 0", // until it leads
		fmt.Sprintf("select pg_advisory_lock(%d)", lockNumber),
		fmt.Sprintf("set idle_session_timeout = %d", hungAfter.Milliseconds()),
		"listen grid_scheduler",
	} {
		if _, err := conn.Exec(ctx, q); err != nil {
			return err
		}
	}
	return nil
}

// listen keeps the session alive and passes on what it hears.
func listen(ctx context.Context, conn *pgx.Conn, woken chan<- struct{}) {
	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		conn.Close(end)
	}()
	for ctx.Err() == nil {
		wait, cancel := context.WithTimeout(ctx, heartbeat)
		_, err := conn.WaitForNotification(wait)
		timedOut := wait.Err() != nil
		cancel()
		switch {
		case err == nil:
			select {
			case woken <- struct{}{}:
			default:
			}
		case !timedOut:
			return
		}
		beat, cancel := context.WithTimeout(ctx, hungAfter)
		_, err = conn.Exec(beat, "select 1")
		cancel()
		if err != nil {
			return
		}
	}
}

// inFlight is for how long a cycle of the old leader may go on when another has
// its lock.
const inFlight = 500 * time.Millisecond

// depose begins a new epoch. A cycle of the old leader that is in flight may
// end; one that does not, since the leader hangs in the middle of it, is ended by
// the server.
func depose(ctx context.Context, s *Store, conn *pgx.Conn, name string) (epoch int64, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	took := make(chan struct{})
	go func() {
		defer close(took)
		epoch, err = takeOver(ctx, s, name)
	}()
	for {
		select {
		case <-took:
			return epoch, err
		case <-time.After(inFlight):
		}
		_, kerr := conn.Exec(ctx, `select pg_terminate_backend(l.pid) from pg_locks l join pg_class c on c.oid = l.relation
			where c.relname = 'leader' and l.mode = 'RowShareLock' and l.database = (select oid from pg_database where datname = current_database())`)
		if kerr != nil {
			cancel()
			<-took
			return 0, kerr
		}
	}
}

// takeOver begins a new epoch. It waits for a cycle of the old leader that is
// still in flight.
func takeOver(ctx context.Context, s *Store, name string) (epoch int64, err error) {
	err = s.tx(ctx, func(h handle) error {
		if _, err := h.exec(ctx, "update leader set epoch = epoch + 1, holder = $1, since = $2", name, time.Now().Unix()); err != nil {
			return err
		}
		return h.tx.QueryRowContext(ctx, "select epoch from leader").Scan(&epoch)
	})
	return epoch, err
}

// reign is what a leader is told of others' doings, as a transaction has it.
type reign interface {
	// fence stops whoever is not leader any more.
	fence(ctx context.Context, epoch int64) error
	// quiet tells whether nothing waits for the leader who has a memory: no message, no credential, no other leader.
	quiet(ctx context.Context, m *memory) (bool, error)
	// doubtful tells whether a job may be further than is known.
	doubtful(ctx context.Context, j *Job) (bool, error)
	// restored tells when an older copy was brought back, in seconds of Unix time; 0: none was.
	restored(ctx context.Context) (int64, error)
}

// reignTable is the reign in tables.
type reignTable struct{ *statements }

// fence implements reign.
func (h reignTable) fence(ctx context.Context, epoch int64) error {
	n := 0
	err := h.rows(ctx, func(scan func(...any) error) error { n++; var e int64; return scan(&e) },
		"select epoch from leader where epoch = $1 {for share}", epoch)
	if err == nil && n == 0 {
		err = ErrDeposed
	}
	return err
}

// quiet implements reign.
func (h reignTable) quiet(ctx context.Context, m *memory) (bool, error) {
	var epoch, messages, credentials, delegations, sum int64 // who was deposed is to be told
	err := h.rows(ctx, func(scan func(...any) error) error { return scan(&epoch, &messages, &credentials, &delegations, &sum) },
		`select (select epoch from leader), (select count(*) from (select 1 from message limit 1) as m), (select count(*) from credential),
		(select count(*) from delegation), cast((select coalesce(sum(expires), 0) from credential) + (select coalesce(sum(expires), 0) from delegation) as {int})`)
	for _, a := range m.expires.last {
		sum -= a.until
	}
	for _, a := range m.expires.own {
		sum -= a.until
	}
	return err == nil && epoch == m.epoch && messages == 0 && int(credentials) == len(m.expires.last) && int(delegations) == len(m.expires.own) && sum == 0, err
}

// campaignFile waits for a lock on a file beside the embedded database.
func campaignFile(ctx context.Context, s *Store, name string) (*Leadership, error) {
	f, err := os.OpenFile(leaderFile(s), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			break
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			f.Close()
			return nil, err
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
	epoch, err := takeOver(ctx, s, name)
	if err != nil {
		f.Close()
		return nil, err
	}
	lost := make(chan struct{})
	ctx, cancel := context.WithCancel(ctx)
	context.AfterFunc(ctx, func() { f.Close(); close(lost) })
	return &Leadership{Epoch: epoch, Woken: make(chan struct{}), Lost: lost, end: cancel}, nil
}
