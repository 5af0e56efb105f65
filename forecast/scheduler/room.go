package scheduler

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"
)

// held is what the scheduler keeps for a user.
type held struct {
	open int64     // jobs that have not ended
	disk int64     // bytes of files; -1: not counted
	at   time.Time // when it was counted
}

// counted is how old a count may be: counting takes the database the longer the
// more a user has there, and is not done for each of his submissions. Until then
// what this replica takes in is added; what others take in is seen afterwards.
const counted = time.Second

// add counts one more job.
func (has held) add(files []File) held {
	has.open++
	if has.disk >= 0 {
		for _, f := range files {
			has.disk += int64(len(f.Body))
		}
	}
	return has
}

// keep adds what was taken in. A job that was taken before is counted twice until
// the next count: nobody is refused without one.
func (n *entrance) keep(e *entering) {
	has, known := n.kept[e.who.Subject]
	for i, j := range e.jobs {
		if known && j != nil {
			has = has.add(e.list[i].Files)
			n.kept[e.who.Subject] = has
		}
	}
}

// room holds users to what the scheduler keeps for one.
func (n *entrance) room(ctx context.Context, s *Scheduler, h handle, group []*entering) error {
	now := s.now()
	maps.DeleteFunc(n.kept, func(_ string, has held) bool { return now.Sub(has.at).Abs() >= counted })
	over := false
	if err := n.count(ctx, h, group, now); err != nil {
		return err
	}
	s.conf.judge(group, n.kept, nil, func(*entering, int, string) { over = true })
	if !over {
		return nil
	}
	clear(n.kept) // nobody is refused by what was counted earlier
	if err := n.count(ctx, h, group, now); err != nil {
		return err
	}
	before := map[named]string{}
	for _, e := range group {
		if err := e.earlier(ctx, h.queue, before); err != nil {
			return err
		}
	}
	s.conf.judge(group, n.kept, before, func(e *entering, i int, why string) { e.out[i].Error, e.jobs[i] = why, nil })
	clear(n.kept)
	return nil
}

// judge names the jobs for which there is no room. Those that were taken before
// take no more of it.
func (c Config) judge(group []*entering, kept map[string]held, before map[named]string, refuse func(e *entering, i int, why string)) {
	of := maps.Clone(kept)
	for _, e := range group {
		for i, j := range e.jobs {
			if j == nil || before[named{j.Owner, j.Key}] != "" {
				continue
			}
			has := of[e.who.Subject].add(e.list[i].Files)
			if why := c.full(has, e.list[i].Files); why != "" {
				refuse(e, i, why)
			} else {
				of[e.who.Subject] = has
			}
		}
	}
}

// full tells why a job cannot be kept; it is counted already.
func (c Config) full(has held, files []File) string {
	if has.open > int64(c.MaxJobs) {
		return fmt.Sprintf("you have %d jobs that have not ended, and may have %d", has.open-1, c.MaxJobs)
	}
	if len(files) > 0 && has.disk > c.MaxDisk {
		return fmt.Sprintf("your files at the scheduler would take %d bytes of %d: grid clean removes those of ended jobs", has.disk, c.MaxDisk)
	}
	return ""
}

// count reads what is kept for those submitters of whom that is not known.
func (n *entrance) count(ctx context.Context, h handle, group []*entering, now time.Time) error {
	var names []string
	files := false
	for _, e := range group {
		brings := slices.ContainsFunc(e.list, func(sub Submission) bool { return len(sub.Files) > 0 })
		if has, known := n.kept[e.who.Subject]; !known || brings && has.disk < 0 {
			names, files = append(names, e.who.Subject), files || brings
		}
	}
	if len(names) == 0 {
		return nil
	}
	of, err := h.queue.held(ctx, names, files)
	for _, name := range names {
		has := of[name]
		if has.at = now; !files {
			has.disk = -1
		}
		n.kept[name] = has
	}
	return err
}
