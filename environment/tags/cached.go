package tags

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gridbroker/durable"
	"gridbroker/environment"
)

// reportLife is how long the word of a node on what it has cached counts.
const reportLife = 10 * time.Minute

// A report is what a node has cached, as its agent said last.
type report struct {
	At   time.Time `json:"at"`
	Tags []string  `json:"tags"`
}

// ReportCached records which environments a node has cached. It counts for ten minutes, so that the soft tags of a node
// whose agent has gone do not stay. It is no change of tags and not in the history.
func (s *Store) ReportCached(ctx context.Context, c Caller, node string, cached []string) error {
	lock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := s.allowed(c, ""); err != nil {
		return err
	}
	all, err := s.reports()
	if err != nil {
		return err
	}
	for name, r := range all {
		if !s.counts(r) {
			delete(all, name)
		}
	}
	all[node] = report{s.Now().UTC().Truncate(time.Second), slices.Sorted(slices.Values(cached))}
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	return durable.Replace(s.cachedFile(), ".new-*", 0o664, append(text, '\n'))
}

// counts tells whether a report is of the last ten minutes, or of the next: nodes' clocks differ. One of a clock that was
// far ahead would count for long.
func (s *Store) counts(r report) bool { return s.Now().Sub(r.At).Abs() <= reportLife }

func (s *Store) cachedFile() string { return filepath.Join(s.Dir, "cached.json") }

func (s *Store) reports() (map[string]report, error) {
	all := map[string]report{}
	text, err := s.read(filepath.Base(s.cachedFile()))
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.cachedFile(), err)
	}
	return all, nil
}

// Published gives every tag of the store by name, and the soft tag VEE-X.cached beside each VEE-X that a node has
// reported as cached.
func (s *Store) Published() ([]Tag, error) {
	list, err := s.All()
	if err != nil {
		return nil, err
	}
	reports, err := s.reports()
	if err != nil {
		return nil, err
	}
	for node, r := range reports {
		if !s.counts(r) {
			continue
		}
		for _, name := range r.Tags {
			soft := Tag{Name: name + environment.CachedSuffix, State: InstalledNotVerified, Added: r.At, By: node}
			if i := find(list, name); i >= 0 && list[i].State != InstalledBroken && find(list, soft.Name) < 0 {
				soft.Name, soft.Digest = list[i].Name+environment.CachedSuffix, list[i].Digest
				list = append(list, soft)
			}
		}
	}
	slices.SortFunc(list, func(a, b Tag) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}
