package scheduler

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// Replicas of one database must have the same clusters, administrators, issuers and more: which of them leads, or answers, would
// matter else. The one that leads leaves digests of its settings beside its epoch, and the others compare theirs.

// leaderSettings is what a leader leaves.
type leaderSettings struct {
	Epoch    int64             `json:"epoch"` // of another one's: it is none of who leads now
	Name     string            `json:"name"`
	Settings map[string]string `json:"settings"`
}

// leave leaves the settings of who has come to lead.
func leave(ctx context.Context, s *Scheduler, epoch int64) error {
	text, err := json.Marshal(leaderSettings{epoch, s.conf.Name, s.conf.Alike})
	if err != nil {
		return err
	}
	return s.store.tx(ctx, func(h handle) error {
		return h.write(ctx, "update leader set settings = $1 where epoch = $2", string(text), epoch)
	})
}

// Unlike tells which settings are others at the replica that leads, and its name, where one leads and has told: alike has digests
// by the settings' names, as [Config.Alike].
func Unlike(ctx context.Context, s *Store, alike map[string]string) (leader string, names []string, err error) {
	if has, err := led(ctx, s); err != nil || !has {
		return "", nil, err
	}
	var epoch int64
	var text string
	err = s.db.QueryRowContext(ctx, "select epoch, settings from leader").Scan(&epoch, &text)
	if err != nil || text == "" {
		return "", nil, err
	}
	var has leaderSettings
	if err := json.Unmarshal([]byte(text), &has); err != nil || has.Epoch != epoch {
		return "", nil, err
	}
	for name, digest := range alike {
		if other, told := has.Settings[name]; told && other != digest {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return has.Name, names, nil
}

// agree warns while this replica does not lead and has other settings than the one that does: once of each difference.
func agree(ctx context.Context, s *Scheduler) error {
	const first, every = time.Second, time.Minute
	said := ""
	for wait := first; s.pause(ctx, wait); wait = every {
		if s.Leads() {
			continue
		}
		leader, names, err := Unlike(ctx, s.store, s.conf.Alike)
		if err != nil { // of a database that is away others tell
			continue
		}
		if text := strings.Join(names, ", "); text != said {
			if said = text; text != "" {
				s.log.Warn("the replica that leads on this database has other settings than this one: give both the same, and restart the one that was changed", "leader", leader, "settings", text)
			}
		}
	}
	return nil
}
