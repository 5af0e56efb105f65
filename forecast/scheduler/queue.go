package scheduler

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"runtime"

	"golang.org/x/sync/errgroup"
)

// queue are the jobs of the global queue, as a transaction has them. Those that have ended may be forgotten.
type queue interface {
	// enter enters jobs and gives the ids of those that are new; one whose owner has used its key before stays out.
	enter(ctx context.Context, jobs []*Job) (map[named]string, error)
	// before finds the ids of jobs that a user has handed in earlier, by his keys.
	before(ctx context.Context, owner string, keys []string) (map[named]string, error)
	// held is what is kept for some users, where it says so with the bytes of their files.
	held(ctx context.Context, owners []string, files bool) (map[string]held, error)
	// open are those that have not ended, in the order in which they came, and these those of some ids.
	open(ctx context.Context) ([]*Job, error)
	these(ctx context.Context, ids []string) ([]*Job, error)
	// job is one that is nobody else's to change; nil: it is not there.
	job(ctx context.Context, id string) (*Job, error)
	// save writes down what the leader has changed of jobs, and over that nothing more of their transaction is to come of
	// those that have ended.
	save(ctx context.Context, jobs []*Job) error
	over(jobs map[string]*Job)
	remove(ctx context.Context, id string) error
}

// named is a job by its owner's name for it.
type named struct{ owner, key string }

// unended are the jobs that have not ended.
const unended = "state not in ('done', 'failed', 'cancelled')"

// queueTable is the queue in a table.
type queueTable struct{ *statements }

// enter implements queue.
func (h queueTable) enter(ctx context.Context, jobs []*Job) (map[named]string, error) {
	rows := make([]jobRow, len(jobs))
	for i, j := range jobs {
		var err error
		if rows[i], err = rowOf(j); err != nil {
			return nil, err
		}
	}
	return h.insert(ctx, rows)
}

func (h queueTable) insert(ctx context.Context, rows []jobRow) (map[named]string, error) {
	text, err := jsonText(rows)
	if err != nil {
		return nil, err
	}
	ids := make(map[named]string, len(rows))
	err = h.rows(ctx, func(scan func(...any) error) error {
		var of named
		var id string
		err := scan(&of.owner, &of.key, &id)
		ids[of] = id
		return err
	}, `insert into queue (id, owner, key, state, body) select t.value->>'id', t.value->>'owner', t.value->>'key',
		t.value->>'state', cast(t.value->'body' as text) from {each} where true on conflict (owner, key) do nothing returning owner, key, id`, text)
	return ids, err
}

// before implements queue.
func (h queueTable) before(ctx context.Context, owner string, keys []string) (map[named]string, error) {
	text, err := jsonText(keys)
	if err != nil {
		return nil, err
	}
	ids := make(map[named]string, len(keys))
	err = h.rows(ctx, func(scan func(...any) error) error {
		of, id := named{owner: owner}, ""
		err := scan(&of.key, &id)
		ids[of] = id
		return err
	}, "select key, id from queue where owner = $2 and key in (select t.value from {texts})", text, owner)
	return ids, err
}

// held implements queue.
func (h queueTable) held(ctx context.Context, owners []string, files bool) (map[string]held, error) {
	text, err := jsonText(owners)
	if err != nil {
		return nil, err
	}
	of := map[string]held{}
	take := func(to func(has *held, n int64)) func(scan func(...any) error) error {
		return func(scan func(...any) error) error {
			var owner string
			var n int64
			err := scan(&owner, &n)
			has := of[owner]
			to(&has, n)
			of[owner] = has
			return err
		}
	}
	err = h.rows(ctx, take(func(has *held, n int64) { has.open = n }), `select owner, count(*) from queue
		where owner in (select t.value from {texts}) and `+unended+` group by owner`, text)
	if err == nil && files {
		err = h.rows(ctx, take(func(has *held, n int64) { has.disk = n }), `select q.owner, coalesce(sum(f.size), 0)
			from file f join queue q on q.id = f.job where q.owner in (select t.value from {texts}) group by q.owner`, text)
	}
	return of, err
}

// open implements queue.
func (h queueTable) open(ctx context.Context) ([]*Job, error) {
	return h.jobs(ctx, "where "+unended+" order by seq")
}

// these implements queue.
func (h queueTable) these(ctx context.Context, ids []string) ([]*Job, error) {
	text, err := jsonText(ids)
	if err != nil {
		return nil, err
	}
	return h.jobs(ctx, "where id in (select t.value from {texts}) and "+unended, text)
}

// job implements queue.
func (h queueTable) job(ctx context.Context, id string) (*Job, error) {
	list, err := h.jobs(ctx, "where id = $1", id)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return list[0], nil
}

// over implements queue.
func (queueTable) over(map[string]*Job) {}

// remove implements queue.
func (h queueTable) remove(ctx context.Context, id string) error {
	_, err := h.exec(ctx, "delete from queue where id = $1", id)
	return err
}

// jobRow is a job for a bulk statement.
type jobRow struct {
	ID    string          `json:"id"`
	Owner string          `json:"owner"`
	Key   string          `json:"key"`
	State State           `json:"state"`
	Body  json.RawMessage `json:"body"`
}

func rowOf(j *Job) (jobRow, error) {
	body, err := encodeJob(j)
	return jobRow{j.ID, j.Owner, j.Key, j.State, body}, err
}

// save implements queue.
func (h queueTable) save(ctx context.Context, jobs []*Job) error {
	if len(jobs) == 0 {
		return nil
	}
	rows := make([]jobRow, len(jobs))
	for i, j := range jobs {
		var err error
		if rows[i], err = rowOf(j); err != nil {
			return err
		}
	}
	return h.writeEach(ctx, `update queue set state = t.value->>'state', body = cast(t.value->'body' as text)
		from {each} where queue.id = t.value->>'id'`, rows)
}

// jobs reads jobs; where follows "select ... from queue". Many are decoded on all
// processors while the database goes on reading.
func (q *statements) jobs(ctx context.Context, where string, args ...any) (list []*Job, err error) {
	const batch = 512
	var decoding errgroup.Group
	decoding.SetLimit(runtime.GOMAXPROCS(0))
	bodies := make([][]byte, 0, batch)
	err = q.rows(ctx, func(scan func(...any) error) error {
		j := &Job{}
		var body []byte
		if err := scan(&j.Seq, &body); err != nil {
			return err
		}
		list, bodies = append(list, j), append(bodies, body)
		if len(bodies) == batch {
			jobs, texts := list[len(list)-batch:], bodies
			decoding.Go(func() error { return decodeJobs(jobs, texts) })
			bodies = make([][]byte, 0, batch)
		}
		return nil
	}, "select seq, body from queue "+where, args...)
	last := decodeJobs(list[len(list)-len(bodies):], bodies)
	return list, cmp.Or(err, decoding.Wait(), last)
}

// decodeJobs reads jobs out of what the table has of them.
func decodeJobs(jobs []*Job, bodies [][]byte) error {
	for i, j := range jobs {
		if err := decodeJob(bodies[i], j); err != nil {
			return fmt.Errorf("job %d of the queue: %w", j.Seq, err)
		}
	}
	return nil
}
