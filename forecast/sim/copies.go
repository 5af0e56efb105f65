package sim

import (
	"fmt"
	"slices"
)

// maxSites bounds the sites of a scenario.
const maxSites = 10_000

// path is where a site's table stands in the file.
func (s *Site) path() string { return fmt.Sprint("site.", s.table) }

// copied puts as many sites in the place of each table as it stands for: NAME-1, NAME-2
// and so on.
func (s *Scenario) copied() error {
	all, more := 0, false
	for i := range s.Sites {
		c := &s.Sites[i]
		if c.table == 0 {
			c.table = i + 1
		}
		if c.Copies < 0 || c.Copies > maxSites {
			return wrong(c.path()+".copies", "%d: want 1 to %d", c.Copies, maxSites)
		}
		more = more || c.Copies > 0 && c.Name != "" // of a site without a name that is told
		if all += max(1, c.Copies); all > maxSites {
			return wrong(c.path(), "the %dth site: want %d at most", all, maxSites)
		}
	}
	if all == 0 {
		return wrong("site", "none: write [[site]] with name and procs, for each of 1 to %d", maxSites)
	}
	if !more {
		return nil
	}
	tables := s.Sites
	s.Sites = make([]Site, 0, all)
	for _, c := range tables {
		n, name := c.Copies, c.Name
		if c.Copies = 0; n == 0 {
			s.Sites = append(s.Sites, c)
		}
		for k := range n {
			c.Name = fmt.Sprint(name, "-", k+1)
			s.Sites = append(s.Sites, c)
		}
	}
	s.Sites = slices.Clip(s.Sites)
	return nil
}
