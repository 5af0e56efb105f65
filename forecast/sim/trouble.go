package sim

import (
	"cmp"
	"slices"
	"time"
)

// trouble is one beginning or end of a failure.
type trouble struct {
	at   int64
	kind string
	site string // "": all
	on   bool
}

// troubles lists beginnings and ends in order of time; ends before beginnings.
func (s *Scenario) troubles() (list []trouble) {
	for _, f := range s.Failures {
		from := int64(f.From.Seconds())
		list = append(list, trouble{from, f.Kind, f.Site, true}, trouble{from + int64(f.For.Seconds()), f.Kind, f.Site, false})
	}
	slices.SortStableFunc(list, func(a, b trouble) int {
		switch {
		case a.at != b.at:
			return cmp.Compare(a.at, b.at)
		case a.on != b.on && b.on:
			return -1
		case a.on != b.on:
			return 1
		}
		return 0
	})
	return list
}

// strike lets everything happen that is due at a time.
func (g *grid) strike(at int64) error {
	g.now = at
	for len(g.troubles) > 0 && g.troubles[0].at == at {
		t := g.troubles[0]
		g.troubles = g.troubles[1:]
		for _, c := range g.sites {
			if t.site != "" && t.site != c.Name {
				continue
			}
			if err := c.advance(at); err != nil {
				return err
			}
			if err := c.suffer(t); err != nil {
				return err
			}
			if d, ok := g.dispatch.(interface{ struck(*site) }); ok {
				d.struck(c)
			}
		}
	}
	return nil
}

// suffer changes the state of a site. Where failures of a kind overlap, it ends
// with the last of them.
func (c *site) suffer(t trouble) error {
	if c.lasting == nil {
		c.lasting = map[string]int{}
	}
	if t.on {
		c.lasting[t.kind]++
	} else {
		c.lasting[t.kind]--
	}
	on := c.lasting[t.kind] > 0
	switch t.kind {
	case ServiceFails:
		c.mute = on
	case BlackHole:
		c.hole = on
	case Credential:
		c.closed = on
	case SiteFails:
		if on != c.down {
			return c.fail(on, epoch.Add(time.Duration(t.at)*time.Second))
		}
	}
	return nil
}

// takes says whether a site takes jobs now.
func (c *site) takes() bool { return !c.down && !c.closed }
