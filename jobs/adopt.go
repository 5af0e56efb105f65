package jobs

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gridbroker/broker/clock"
	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/plugins"
)

// Adoption is what Adopt takes and what it would do.
type Adoption struct {
	Places  []Place
	Foreign bool // also jobs that were not sent from here
	DryRun  bool // nothing is recorded
}

// Place is an endpoint where jobs may be, and the resource behind it, where there
// is but one: its id, name and site.
type Place struct {
	Endpoint           glue.Endpoint
	Resource, At, Site string
}

// Adopted is what Adopt found.
type Adopted struct {
	Jobs    []*Outcome // recorded now, or that would be
	Known   int        // jobs at the endpoints that the records have already
	Foreign int        // left where they are: not sent from here
	Unread  int        // left where they are: they cannot be asked about
	Errs    []error    // of endpoints that could not be asked
}

// Adopt brings jobs into the records that exist at endpoints, as after the loss
// of a disk. Jobs of ours are known by the id they carry and get it back, all
// attempts found being one job; others get an id made of their place, so that
// each is recorded once, by whomever. What is adopted is not retried by itself:
// nobody knows what else was tried.
func Adopt(ctx context.Context, c *Controller, a Adoption) (*Adopted, error) {
	out, err := adoptNow(ctx, c, a)
	if err == nil || a.DryRun || ctx.Err() != nil {
		return out, err
	}
	return adoptNow(ctx, c, a) // another process may have recorded some of them meanwhile
}

func adoptNow(ctx context.Context, c *Controller, a Adoption) (*Adopted, error) {
	known, err := recorded(ctx, c.Store)
	if err != nil {
		return nil, err
	}
	out := &Adopted{}
	found := map[string][]present{}
	for _, at := range a.Places {
		if err := adoptAt(ctx, c, at, a, known, found, out); err != nil {
			out.Errs = append(out.Errs, err)
		}
	}
	for _, list := range found {
		r, err := adopted(list, c.now())
		if err != nil {
			return nil, err
		}
		out.Jobs = append(out.Jobs, r)
	}
	slices.SortFunc(out.Jobs, func(a, b *Outcome) int { return cmp.Compare(a.ID, b.ID) })
	if a.DryRun || len(out.Jobs) == 0 {
		return out, nil
	}
	if err := c.Store.Add(ctx, Records(out.Jobs)); err != nil {
		return nil, err
	}
	return out, c.Store.Note(ctx, Records(out.Jobs), "adopt", func(r *Record) string { return "from " + r.Handle.Endpoint + " as " + r.Handle.ID })
}

// recorded are the handles and ids that the records have.
func recorded(ctx context.Context, store Store) (map[string]bool, error) {
	rs, err := store.Select(ctx, Query{})
	if _, damaged := errors.AsType[*DamagedError](err); err != nil && !damaged {
		return nil, err
	}
	known := map[string]bool{}
	if damaged, ok := errors.AsType[*DamagedError](err); ok {
		for _, id := range damaged.IDs {
			known[id] = true
		}
	}
	for _, r := range rs {
		known[r.ID] = true
		known[locator(r.Handle)] = r.Handle.ID != ""
		for _, p := range r.Past {
			known[locator(p.Handle)] = p.Handle.ID != ""
		}
	}
	return known, nil
}

// locator names a job by where it is.
func locator(h plugins.Handle) string { return h.Interface + "\n" + h.Endpoint + "\n" + h.ID }

// present is an attempt found at an endpoint.
type present struct {
	plugins.Present
	id      string // the job's
	attempt int
	at      Place
	status  plugins.Status
	asked   clock.Reading
	job     *jdl.Job
}

// adoptAt adds the jobs of one endpoint that nobody knows to found, by id.
func adoptAt(ctx context.Context, c *Controller, at Place, a Adoption, known map[string]bool, found map[string][]present, out *Adopted) error {
	e := at.Endpoint
	backend, ok := c.Registry.For(e.Interface)
	inventory, can := backend.(plugins.Inventory)
	if !ok || !can {
		return &plugins.Error{Kind: plugins.Invalid, Op: "adopt", Endpoint: e.URL, Said: e.Interface + " does not tell which jobs it has"}
	}
	all, err := inventory.Inventory(ctx, e)
	if err != nil {
		return err
	}
	var fresh []present
	for _, p := range all {
		id, attempt, ours := splitRequest(p.ID)
		switch {
		case known[locator(p.Handle)], ours && known[id]:
			out.Known++
		case !ours && !a.Foreign:
			out.Foreign++
		default:
			fresh = append(fresh, present{Present: p, id: id, attempt: max(attempt, 1), at: at})
			known[locator(p.Handle)] = true
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	if err := examine(ctx, c.Clock, backend, inventory, fresh); err != nil {
		return err
	}
	for _, p := range fresh {
		if st := p.status.State; st == plugins.Unknown || st == plugins.Lost || st == "" {
			out.Unread++
			continue
		}
		if p.id == "" {
			p.id = foreignID(p.Handle, p.status.Submitted)
		}
		found[p.id] = append(found[p.id], p)
	}
	return nil
}

// examine reads states and descriptions of jobs.
func examine(ctx context.Context, now clock.Clock, backend plugins.Submitter, inventory plugins.Inventory, ps []present) error {
	hs := make([]plugins.Handle, len(ps))
	for i, p := range ps {
		hs[i] = p.Handle
	}
	at := clock.Read(now)
	got := backend.Status(ctx, hs)
	described, err := inventory.Describe(ctx, hs)
	if err != nil {
		return err
	}
	for i := range ps {
		ps[i].asked = at
		if i < len(got) {
			ps[i].status = got[i]
			ps[i].status.Handle = hs[i]
		}
		if i < len(described) {
			ps[i].job = described[i]
		}
	}
	return nil
}

// otherAttempts is how many numbers are left free after the attempts that were
// found: others may lie elsewhere, and no name must be used twice.
const otherAttempts = 100

// adopted makes one record of the attempts of a job: the last is the present one.
func adopted(list []present, now time.Time) (*Outcome, error) {
	slices.SortStableFunc(list, func(a, b present) int { return cmp.Compare(a.attempt, b.attempt) })
	r := &Record{ID: list[0].id}
	r.Handle = list[0].Handle
	created, ok := idTime(r.ID)
	if !ok {
		created = now
	}
	if _, err := r.Apply(Recorded{}, created); err != nil {
		return nil, err
	}
	for _, p := range list {
		if err := r.take(p, now); err != nil {
			return nil, err
		}
	}
	r.Name = cmp.Or(r.Name, r.ID)
	r.Spared = otherAttempts
	return &Outcome{Record: r, Fresh: true}, nil
}

// take writes an attempt that was found into the record, as the present one.
func (r *Record) take(p present, now time.Time) error {
	if r.State != plugins.Intended {
		r.keepPast(Past{State: r.State, Native: r.Native, Reason: r.Reason, ExitCode: r.ExitCode, Host: r.Host,
			Started: r.Started, Ended: r.Ended, WallTime: r.WallTime, CPUTime: r.CPUTime, MaxMemory: r.MaxMemory})
		r.ExitCode, r.Started, r.Ended = nil, time.Time{}, time.Time{}
	}
	r.describe(p)
	if _, err := r.Apply(TakenUp{Attempt: p.attempt, Handle: p.Handle, Submitted: p.status.Submitted}, now); err != nil {
		return err
	}
	_, err := r.Apply(Seen{Status: p.status, At: p.asked}, now)
	return err
}

// describe fills in what a description and a place tell.
func (r *Record) describe(p present) {
	r.Resource, r.Site, r.At = p.at.Resource, p.at.Site, cmp.Or(p.at.At, hostOf(p.at.Endpoint.URL), p.at.Endpoint.URL)
	r.Name = cmp.Or(p.Name, r.Name)
	if job := p.job; job != nil {
		if _, _, ours := splitRequest(p.ID); ours && p.Name != "" && job.Name != p.Name {
			b := jdl.Builder{Ad: job.Ad} // a back-end's name has our id before it
			b.Str("JobName", p.Name)
		}
		r.JDL, r.Slots, r.Name = job.Text(), job.Demand.Slots, cmp.Or(r.Name, job.Name)
	}
}

// hostOf is the host in a URL; "" where it has none.
func hostOf(url string) string {
	_, rest, ok := strings.Cut(url, "://")
	if !ok {
		_, name, _ := strings.Cut(url, ":")
		return name
	}
	host, _, _ := strings.Cut(rest, "/")
	return host
}

// splitRequest reads the id of a request: that of its job and the number of the
// attempt. One that does not look like ours is none.
func splitRequest(request string) (id string, attempt int, ours bool) {
	id, number, later := strings.Cut(request, "-")
	at, ok := idTime(id)
	if !ok || at.Before(oldestID) {
		return "", 0, false
	}
	if !later {
		return id, 1, true
	}
	n, err := strconv.Atoi(number)
	if err != nil || n < 2 || n > lastAttempt || strconv.Itoa(n) != number {
		return "", 0, false
	}
	return id, n, true
}

// lastAttempt bounds the number that a back-end says an attempt has: counted on
// from the greatest number there is, the next would be the first again.
const lastAttempt = 1_000_000

// oldestID is before any id was made.
var oldestID = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// idTime is when an id was made.
func idTime(id string) (time.Time, bool) {
	if len(id) != idLength {
		return time.Time{}, false
	}
	var ms int64
	for i, c := range id {
		v := strings.IndexRune(alphabet, c)
		if v < 0 {
			return time.Time{}, false
		}
		if i < timeDigits {
			ms = ms<<5 | int64(v)
		}
	}
	return time.UnixMilli(ms), true
}

// foreignID is the id of a job that was not sent from here: always the same for
// the same job, so that it is adopted once.
func foreignID(h plugins.Handle, submitted time.Time) string {
	sum := sha256.Sum256([]byte(locator(h)))
	random := binary.BigEndian.Uint64(sum[:8])
	if submitted.IsZero() {
		submitted = oldestID
	}
	return base32(uint64(submitted.UnixMilli()), timeDigits) + base32(random, idLength-timeDigits)
}

// errAdopted is what there is to say of an adopted job whose description its
// back-end has not kept.
func errAdopted(r *Record) error {
	return fmt.Errorf("job %s was adopted from %s, which has not kept its description", r.ID, r.Handle.Endpoint)
}

// unvouched is why an adopted job must not be sent: nobody has its description,
// or it names files of this machine. The description is what the back-end made
// of it, and no back-end says which files of this machine leave it.
func (o *Outcome) unvouched() error {
	if !o.Adopted {
		return nil
	}
	job, err := o.Job()
	if err != nil {
		return err
	}
	for _, f := range job.InputSandbox {
		if !f.IsURL() {
			return fmt.Errorf("job %s was adopted from %s, which says that it takes %q from this machine: no file is sent on its word, so submit it from a description of your own",
				o.ID, o.Handle.Endpoint, cmp.Or(f.Source, f.Name))
		}
	}
	return nil
}
