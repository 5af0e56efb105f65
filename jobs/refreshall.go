package jobs

import (
	"context"
	"errors"
)

// RefreshAll selects jobs and refreshes them: while back-ends are asked about those that
// have not ended, the others, which may be many more, are read. With records that cannot
// be read the others are returned, and a *DamagedError.
func RefreshAll(ctx context.Context, c *Controller, q Query) ([]*Outcome, error) {
	live := q
	live.Live = true
	rs, err := c.Store.Select(ctx, live)
	if err = unlessDamaged(err); err != nil {
		return nil, err
	}
	type answer struct {
		rs  []*Record
		err error
	}
	read := make(chan answer, 1)
	go func() {
		rs, err := c.Store.Select(ctx, q)
		read <- answer{rs, err}
	}()
	asked := Outcomes(rs)
	err = c.Refresh(ctx, asked)
	all := <-read
	if err = errors.Join(err, unlessDamaged(all.err)); err != nil {
		return nil, err
	}
	out, others := together(asked, all.rs)
	return out, errors.Join(refreshRead(ctx, c, others), all.err)
}

// refreshRead refreshes jobs whose records were read while others were refreshed: attempts of theirs may have turned up since.
func refreshRead(ctx context.Context, c *Controller, os []*Outcome) error {
	now := c.now()
	var loose []*Outcome
	for _, o := range os {
		if o.loose().After(now) {
			loose = append(loose, o)
		}
	}
	if err := c.apply(ctx, loose, func(*Record) Event { return nil }); err != nil {
		return err
	}
	return c.Refresh(ctx, os)
}

// together are all jobs in their order, those that were asked about as they are since, and the others among them.
func together(asked []*Outcome, all []*Record) (out, others []*Outcome) {
	known := make(map[string]*Outcome, len(asked))
	for _, o := range asked {
		known[o.ID] = o
	}
	out, others = make([]*Outcome, 0, len(all)), make([]*Outcome, 0, len(all))
	for _, r := range all {
		o := known[r.ID]
		if o == nil {
			o = &Outcome{Record: r}
			others = append(others, o)
		}
		out = append(out, o)
	}
	return out, others
}

// unlessDamaged is an error other than that some records cannot be read.
func unlessDamaged(err error) error {
	if _, damaged := errors.AsType[*DamagedError](err); damaged {
		return nil
	}
	return err
}
