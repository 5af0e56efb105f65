package jobs

import (
	"context"
	"fmt"
	"strings"

	"gridbroker/broker"
	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/rank"
)

// Origin is where a job's user told it to look for resources. The zero Origin
// is what the configuration says at the time.
type Origin struct {
	Sources []string `json:"sources,omitempty"` // URLs
	Sites   []string `json:"sites,omitempty"`   // patterns, as Rules.Sites
	// Beyond are URLs too, where a tree of managers among Sources finds a place: of the sites that it chooses among.
	Beyond []string `json:"beyond,omitempty"`
	// Attributes are those that the jobs look at and that nobody asks for
	// otherwise, lower-cased.
	Attributes []string `json:"attributes,omitempty"`

	fixed bool // the site is chosen already, whatever the command says
}

// Discover finds the resources that jobs of an origin may go to.
type Discover func(context.Context, Origin) ([]*glue.Resource, error)

// byOrigin groups jobs whose resources are looked for in the same way, in order of the first of each.
func byOrigin(os []*Outcome) (groups [][]*Outcome) {
	at := map[string]int{}
	for _, o := range os {
		from := lookIn(o.Record)
		key := fmt.Sprint(from.fixed) + strings.Join(from.Sources, "\n") + "\n\n" + strings.Join(from.Sites, "\n") + "\n\n" + strings.Join(from.Attributes, "\n")
		i, ok := at[key]
		if !ok {
			i = len(groups)
			at[key] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], o)
	}
	return groups
}

// placing is what a plan for jobs that are sent again has come to. Nothing is
// recorded yet.
type placing struct {
	attempts int // requests sent when it was made
	choices  []Choice
	ranked   []rank.Ranked // all that the plan has kept, best first
	match    *broker.Match
	err      error // nothing takes the job
}

// place plans jobs over the resources of their origins, each away from those that
// avoid names.
func (c *Controller) place(ctx context.Context, os []*Outcome, discover Discover, avoid func(*Record) []string) (map[string]placing, error) {
	placed := make(map[string]placing, len(os))
	for _, group := range byOrigin(os) {
		from := lookIn(group[0].Record)
		found, err := discover(ctx, from)
		if err != nil {
			return nil, err
		}
		of := *c.Broker
		if len(of.Rules.Sites) == 0 || from.fixed {
			of.Rules.Sites = from.Sites
		}
		there := Controller{Broker: &of, Store: c.Store, Scouts: c.Scouts, Ahead: c.Ahead}
		if from.fixed {
			there.Scouts, there.Ahead = nil, nil
		}
		if err := there.placeIn(ctx, group, found, avoid, placed); err != nil {
			return nil, err
		}
	}
	return placed, nil
}

// placeIn plans jobs over the resources found.
func (c *Controller) placeIn(ctx context.Context, os []*Outcome, found []*glue.Resource, avoid func(*Record) []string, placed map[string]placing) error {
	list := make([]*jdl.Job, 0, len(os))
	at := map[*jdl.Job]*Outcome{}
	for _, o := range os {
		job, err := o.Job()
		if err != nil {
			return err
		}
		list = append(list, job)
		at[job] = o
	}
	p, err := planAvoiding(ctx, c, list, found, func(job *jdl.Job) []string { return avoid(at[job].Record) })
	if err != nil {
		return err
	}
	if c.Ahead != nil {
		c.Ahead(p, found)
	}
	for i := range p.Jobs {
		jp := &p.Jobs[i]
		o := at[jp.Job]
		placed[o.ID] = placing{attempts: o.Attempts, choices: elsewhere(o.Record, o.choose(jp.Choices, c.Offers())), ranked: jp.Choices, match: jp.Match, err: jp.Err}
	}
	return nil
}
