package scheduler

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gridbroker/forecast/wire"
	"gridbroker/testdata/testbed"
)

// settled takes in a site, as a cycle does.
func settled(t *testing.T, m *memory, name string, site *wire.Site) *cluster {
	t.Helper()
	c := &cluster{name: name}
	m.clusters[name] = c
	m.settle(c, *site, Config{})
	return c
}

// manyFeatures is a site whose nodes have each a number of features that no other has.
func manyFeatures(nodes, each int, mark string) *wire.Site {
	site := &wire.Site{Start: wire.Plain}
	for i := range nodes {
		n := wire.Node{Name: fmt.Sprint("n", i), CPUs: 1, GPUs: 1, Up: true}
		for k := range each {
			n.Features = append(n.Features, fmt.Sprintf("%s/%d/%d", mark, i, k))
		}
		site.Nodes = append(site.Nodes, n)
	}
	return site
}

// A cluster whose nodes have hundreds of thousands of features between them costs a cycle little, and so does each kind
// of job afterwards; nodes beyond what is looked at have none, and no other cluster's.
func TestNodesOfManyFeatures(t *testing.T) {
	testbed.Computes(t)
	m := newMemory(0)
	site, good := manyFeatures(590, 1000, "rogue"), manyFeatures(2, 1, "good")
	c := &cluster{name: "rogue"}
	m.clusters["rogue"] = c
	testbed.Within(t, 4*time.Second, 300<<20, func() { m.settle(c, *site, Config{}) })
	testbed.Within(t, 2*time.Second, 50<<20, func() {
		for i := range 20 {
			m.classesFor(&Job{Tags: []string{fmt.Sprint("wanted-", i)}})
		}
	})
	other := settled(t, m, "good", good)
	if c.bare != 590-49 || other.bare != 0 {
		t.Errorf("%d nodes of the rogue and %d of the other are told to count without features", c.bare, other.bare)
	}
	wants := func(c *cluster, node string, j Job) bool {
		set, at := m.classesFor(&j), c.class[node]
		return int(at/64) < len(set) && set[at/64]&(1<<(at%64)) != 0
	}
	for _, v := range []struct {
		c         *cluster
		node, tag string
		gpus      int32
		want      bool
	}{{c, "n0", "rogue/0/5", 1, true}, {c, "n0", "rogue/1/5", 0, false}, {c, "n589", "", 0, true}, {c, "n589", "", 1, false}, {c, "n589", "rogue/0/5", 0, false},
		{c, "n589", "rogue/589/0", 0, false}, {other, "n1", "good/1/0", 1, true}, {other, "n1", "good/0/0", 0, false}} {
		j := Job{GPUs: v.gpus}
		if v.tag != "" {
			j.Tags = []string{v.tag}
		}
		if got := wants(v.c, v.node, j); got != v.want {
			t.Errorf("node %s of %s, %q and %d GPUs: %v", v.node, v.c.name, v.tag, v.gpus, got)
		}
	}
}

// What the nodes of a cluster had once is forgotten when they have something else, and the classes of others stay apart.
func TestClassesAreForgotten(t *testing.T) {
	testbed.Computes(t)
	m := newMemory(0)
	good := settled(t, m, "good", manyFeatures(2, 1, "good"))
	for i := range 40 {
		settled(t, m, "rogue", manyFeatures(20, 1000, fmt.Sprint("rogue", i, strings.Repeat("x", 20))))
	}
	if len(m.features) > 200 || m.named > 4*maxFeatures || len(m.classes) != len(m.features) {
		t.Errorf("%d classes of %d features are kept, by %d keys", len(m.features), m.named, len(m.classes))
	}
	for i, name := range []string{"n0", "n1"} {
		if f := m.features[good.class[name]].features; len(f) != 1 || f[0] != fmt.Sprintf("good/%d/0", i) {
			t.Errorf("%s has %v", name, f)
		}
	}
}
