package slurm

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"gridbroker/plugins"
	"gridbroker/plugins/remote"
)

var _ plugins.Reserver = (*Queue)(nil)

// reservationGrace is added to the end: Slurm kills what still runs when a
// reservation ends.
const reservationGrace = time.Minute

// Reserve implements plugins.Reserver; Slurm lets operators and administrators
// do that only. Start and end are both given, since Slurm takes a length in whole
// minutes, and one of zero for no end at all; they are in UTC, whatever the
// cluster's time zone. IGNORE_JOBS is needed wherever running jobs' limits reach
// into the time: they are expected to end before. Of each node as many cores are
// taken as the job needs; where Slurm does not grant that (cores of several
// processors; in 24.11 a list of them for several nodes), the nodes are. Whether
// one that is refused is there already is looked up: 24.11 says of it
// that it overlaps with another, which is itself.
func (q *Queue) Reserve(ctx context.Context, name string, k plugins.Kept) error {
	nodes := slices.Sorted(maps.Keys(k.CPUs))
	for _, word := range append([]string{name}, nodes...) {
		if !remote.Plain(word) {
			return q.refusal("scontrol create reservation", fmt.Sprintf("%q is no name", word))
		}
	}
	user, err := q.site.account(ctx)
	if err != nil {
		return err
	}
	const form = "2006-01-02T15:04:05"
	argv := []string{"create", "reservation", "reservationname=" + name,
		"starttime=" + k.From.UTC().Format(form), "endtime=" + k.To.Add(reservationGrace).UTC().Format(form),
		"users=" + user, "nodes=" + strings.Join(nodes, ","), "flags=IGNORE_JOBS"}
	most := 0
	for _, n := range k.CPUs {
		most = max(most, n)
	}
	cores := "corecnt=" + strings.TrimSuffix(strings.Repeat(fmt.Sprint(most, ","), len(nodes)), ",")
	_, err = q.control(ctx, append(slices.Clone(argv), cores)...)
	if !refused(err) {
		return err
	}
	names, failed := q.Reserved(ctx, name)
	if failed != nil {
		return failed
	}
	if slices.Contains(names, name) {
		return nil
	}
	_, err = q.control(ctx, argv...)
	return err
}

// account is the one that commands run as; "": not asked yet.
type account struct {
	mu   sync.Mutex
	name string
}

// account asks who that is, once.
func (s *site) account(ctx context.Context) (string, error) {
	s.who.mu.Lock()
	defer s.who.mu.Unlock()
	if s.who.name == "" {
		name, err := accountOf(ctx, s.Command)
		if err != nil {
			return "", err
		}
		s.who.name = name
	}
	return s.who.name, nil
}

// control runs scontrol with times in UTC, and tells also what it says of its
// errors.
func (q *Queue) control(ctx context.Context, argv ...string) (said string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, q.site.Options.Command, remote.ErrSlow)
	defer cancel()
	out := &remote.Answer{Max: maxSaid, Quiet: true}
	err = q.site.Runner(ctx, nil, out, "said", append([]string{"env", "TZ=UTC0", "scontrol"}, argv...)...)
	if _, no := errors.AsType[*remote.ExitError](err); no {
		return out.String(), q.refusal("scontrol "+argv[0]+" reservation", fmt.Sprintf("%.200s", strings.TrimSpace(out.String())))
	}
	if err != nil {
		return "", q.site.Fail("scontrol "+argv[0], err)
	}
	return out.String(), nil
}

func (q *Queue) refusal(op, said string) error {
	return &plugins.Error{Kind: plugins.Refused, Op: op, Endpoint: q.site.URL, Said: said, Err: errors.New(said)}
}

// refused tells whether Slurm said no; all else may have been done.
func refused(err error) bool {
	e, ok := errors.AsType[*plugins.Error](err)
	return ok && e.Kind == plugins.Refused
}

// Reserved implements plugins.Reserver.
func (q *Queue) Reserved(ctx context.Context, prefix string) (names []string, err error) {
	shown, err := q.site.records(ctx, "scontrol", "--oneliner", "show", "reservation")
	if err != nil {
		return nil, err
	}
	for _, r := range shown {
		if name := r["ReservationName"]; name != "" && strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	return names, nil
}

// Release implements plugins.Reserver. One that jobs still use is ended instead:
// Slurm does not delete it.
func (q *Queue) Release(ctx context.Context, name string) error {
	if !remote.Plain(name) {
		return q.refusal("scontrol delete reservation", fmt.Sprintf("%q is no name", name))
	}
	said, err := q.control(ctx, "delete", "reservationname="+name)
	if refused(err) && gone(said) {
		return nil
	}
	if !refused(err) {
		return err
	}
	if _, again := q.control(ctx, "update", "reservationname="+name, "endtime=now"); again != nil {
		return errors.Join(err, again)
	}
	return nil
}

// gone tells whether Slurm says that there is no such reservation.
func gone(said string) bool {
	return strings.Contains(said, "reservation is invalid") || strings.Contains(said, "not found") || strings.Contains(said, "does not exist")
}
