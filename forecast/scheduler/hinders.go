package scheduler

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"gridbroker/forecast/wire"
)

// What would keep somebody's jobs from being begun is told before he hands any in: by a budget that is spent, the owners of the
// clusters, VOMS attributes that do not count; and where nothing is taken, or no cluster is open.

// admission is whom a cluster lets in, and why nobody's jobs are sent there now; "": they are.
type admission struct {
	name, closed string
	site         wire.Site // whom its owner lets in
}

// admissions are those of the clusters as they were a moment ago, whoever asks.
type admissions struct {
	mu   sync.Mutex
	at   time.Time
	list []admission
}

// troubled is what keeps everybody's jobs from being begun.
func troubled(ctx context.Context, s *Scheduler) (list []string, err error) {
	if isFull(s.store) {
		list = append(list, "the scheduler's disk is full, or was a moment ago: nothing is taken, booked or sent until its operator has made room; what runs goes on")
	}
	if frozen, err := ReadOnly(ctx, s.store); err != nil || frozen {
		return append(list, "the scheduler's database is read-only: nothing is taken, booked or sent until its operator has made it writable; what runs goes on"), err
	}
	none, err := leaderless(ctx, s)
	if err == nil && none {
		list = append(list, "no replica leads: jobs are taken, and are booked and sent when one does; what runs goes on")
	}
	return list, err
}

// hinders is what keeps all jobs that somebody hands in now from being begun; none: nothing that is known before their
// descriptions are.
func hinders(ctx context.Context, s *Scheduler, who Person) (list []string, err error) {
	if err := s.clock.fault(); err != nil {
		return []string{fmt.Sprintf("this replica takes nothing: %v", err)}, nil
	}
	if list, err = troubled(ctx, s); err != nil {
		return nil, err
	}
	err = s.store.read(ctx, func(h handle) error {
		spent, err := spent(ctx, s.conf, h, who)
		if err != nil {
			return err
		}
		if spent {
			list = append(list, "your budget is spent: see grid budget; an administrator of the scheduler can give you more")
		}
		of, err := s.admissions.read(ctx, h, s)
		if why := noneOpen(of, who); err == nil && why != "" {
			list = append(list, why)
		}
		return err
	})
	return list, err
}

// spent tells whether somebody's jobs cost and he has nothing left to pay with.
func spent(ctx context.Context, conf Config, h handle, who Person) (bool, error) {
	has, err := h.accounts.budgets(ctx, who.Subject)
	if conf.Free || err != nil {
		return false, err
	}
	if len(has) == 0 {
		return conf.Budget <= 0, nil
	}
	return has[0].Left <= 0, nil
}

// noneOpen is why no cluster takes somebody's jobs; "": one does.
func noneOpen(list []admission, who Person) string {
	var closed []string
	for i := range list {
		c := &list[i]
		if !lets(&c.site, who.Subject, who.VO, who.FQANs) {
			continue
		}
		if c.closed == "" {
			return ""
		}
		closed = append(closed, c.name+" "+c.closed)
	}
	switch {
	case len(list) == 0:
		return "no cluster has been heard of: their agents are missing"
	case len(closed) > 0:
		if more := len(closed) - maxClosed; more > 0 {
			closed = append(closed[:maxClosed], fmt.Sprintf("%d more", more))
		}
		return "no cluster that lets you in is open: " + strings.Join(closed, ", ")
	case who.Doubt != "":
		return fmt.Sprintf("none of the %d clusters lets you in, and your VO does not count here: %s", len(list), who.Doubt)
	case who.VO == "":
		return fmt.Sprintf("none of the %d clusters lets you in: they admit members of VOs, or by name, and you show no VO", len(list))
	}
	return fmt.Sprintf("none of the %d clusters lets you in, as a member of VO %s", len(list), who.VO)
}

// read reads them where they are not known from a moment ago.
func (a *admissions) read(ctx context.Context, h handle, s *Scheduler) ([]admission, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := s.now()
	if age := now.Sub(a.at); a.list != nil && age >= 0 && age < fresh {
		return a.list, nil
	}
	list := []admission{}
	err := h.rows(ctx, func(scan func(...any) error) error {
		var c admission
		var made, ttl int64
		var drained int
		var site string
		if err := scan(&c.name, &made, &ttl, &drained, &site); err != nil {
			return err
		}
		if _, configured := s.conf.Clusters[c.name]; !configured {
			return nil
		}
		switch {
		case drained != 0:
			c.closed = "is drained"
		case !wire.Usable(made, ttl, now.Unix()):
			c.closed = "is silent"
		}
		err := json.Unmarshal([]byte(site), &c.site)
		c.site = wire.Site{Users: c.site.Users, VOs: c.site.VOs}
		list = append(list, c)
		return err
	}, "select name, made, ttl, drained, site from cluster order by name")
	if err == nil {
		a.list, a.at = list, now
	}
	return list, err
}
