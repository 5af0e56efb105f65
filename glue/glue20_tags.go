package glue

import "bytes"

// This file collects the runtime environments of GLUE 2.0.

// tags20 are the tags of a manager.
type tags20 struct {
	of    key
	names []string
}

// app20 is text of the entry at hand.
type app20 struct{ manager, name, version, state []byte }

// usable tells whether jobs can have it: not what is broken or going (AppEnvState_t, GFD.147, B.2). What says nothing
// is taken to be there.
func (a *app20) usable() bool {
	switch string(a.state) {
	case "installationfailed", "installedbroken", "pendingremoval", "removed", "removing":
		return false
	}
	return true
}

// tagsOf makes the tags that come those of a manager.
func (g *glue20) tagsOf(site string, manager []byte) {
	if t := g.lastTags; t != nil && t.of.site == site && t.of.id == string(manager) {
		return
	}
	g.keepTags()
	k := key{site, g.d.pool.str(manager)}
	if g.tags[k] == nil {
		g.tags[k] = &tags20{of: k}
	}
	g.lastTags = g.tags[k]
}

// keepTags adds the new tags to those of their manager.
func (g *glue20) keepTags() {
	if len(g.newTags) == 0 {
		return
	}
	if t := g.lastTags; t.names == nil {
		t.names = g.d.lists.one(g.newTags)
	} else {
		t.names = g.d.lists.longer(t.names, g.newTags)
	}
	g.newTags = g.newTags[:0]
}

// tag is the whole name of a runtime environment. ARC publishes name and
// version apart (APPS/HEP/ATLAS, 23.0.1), gLite the whole name with the
// version repeated.
func (d *Decoder) tag(name, version []byte) string {
	if bytes.HasSuffix(name, version) {
		return d.pool.str(name)
	}
	var buf [128]byte
	b := append(buf[:0], name...)
	b = append(b, '-')
	return d.pool.str(append(b, version...))
}

var appAttrs = setters[app20]{
	"glue2applicationenvironmentappname":                    func(d *Decoder, a *app20, v []byte) { a.name = v },
	"glue2applicationenvironmentappversion":                 func(d *Decoder, a *app20, v []byte) { a.version = v },
	"glue2applicationenvironmentstate":                      func(d *Decoder, a *app20, v []byte) { a.state = v },
	"glue2applicationenvironmentcomputingmanagerforeignkey": func(d *Decoder, a *app20, v []byte) { a.manager = v },
}
