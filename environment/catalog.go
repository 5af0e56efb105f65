package environment

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"gridbroker/durable"
)

// A Catalog is the definitions of a site, by tag.
type Catalog struct {
	byTag  map[string]*Definition
	broken []error
}

// Broken says what is wrong with definitions that the site answers for and that are left out; nil: nothing is. A tag that
// is not found may be that of one of them.
func (c *Catalog) Broken() error { return errors.Join(c.broken...) }

// Catalog reads the node's definitions, every *.toml of their folder. One that cannot be read keeps no other from being
// used: see Broken. Nor does one of two that have one tag, or tags that differ in case alone, which LDAP and ClassAds could
// not tell apart: neither is used. Where the policy has signers others write in the folder: what nobody has signed is passed
// over there where it cannot be read, and where it has the tag of another definition; all of it while one that the site answers
// for is broken. The error is that of the folder.
func (n *Node) Catalog() (*Catalog, error) {
	if err := n.ours(n.Definitions); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return readCatalog(n.Definitions, n.ours, func(d *Definition) bool {
		if len(n.Policy.Signers) == 0 {
			return true
		}
		text, err := signature(d.File)
		return err == nil && n.Policy.signed(d, text) == nil
	})
}

// readCatalog reads a folder; ours refuses a file, own tells what the site answers for.
func readCatalog(dir string, ours func(string) error, own func(*Definition) bool) (*Catalog, error) {
	files, err := durable.Named(dir, "*.toml")
	if err != nil {
		return nil, err
	}
	c, owned := &Catalog{byTag: map[string]*Definition{}}, map[string]bool{}
	var doubled []string
	for _, file := range files {
		text, err := readDefinition(file)
		if err == nil {
			err = ours(file)
		}
		var d *Definition
		if err == nil {
			d, err = Parse(file, text)
		}
		if err != nil {
			if own(&Definition{File: file, text: text}) {
				c.broken = append(c.broken, err)
			}
			continue
		}
		key, mine := strings.ToLower(d.Tag), own(d)
		switch twin := c.byTag[key]; {
		case twin == nil || mine && !owned[key]:
			c.byTag[key], owned[key] = d, mine
		case mine:
			c.broken = append(c.broken, &ParseError{File: file, Why: fmt.Sprintf("tag %q is %q of %s already", d.Tag, twin.Tag, twin.File)})
			doubled = append(doubled, key)
		}
	}
	for _, key := range doubled {
		delete(c.byTag, key)
	}
	for key := range c.byTag { // another's may have the tag of what the site answers for and cannot be read
		if len(c.broken) > 0 && !owned[key] {
			delete(c.byTag, key)
		}
	}
	return c, nil
}

// readDefinition reads a file that may lie in a folder where others write: no pipe that waits for its writer, no device,
// and no more than a definition has.
func readDefinition(file string) ([]byte, error) {
	f, err := durable.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxDefinition+1))
	if err == nil && len(text) > maxDefinition {
		return nil, tooLarge(file)
	}
	return text, err
}

func tooLarge(file string) error {
	return &ParseError{File: file, Why: fmt.Sprintf("is larger than %d bytes", maxDefinition)}
}

// Find gives the definition of a tag; ok is false where the site has none.
func (c *Catalog) Find(tag string) (d *Definition, ok bool) {
	d, ok = c.byTag[strings.ToLower(tag)]
	return d, ok
}

// All lists the definitions by tag.
func (c *Catalog) All() []*Definition {
	list := make([]*Definition, 0, len(c.byTag))
	for _, d := range c.byTag {
		list = append(list, d)
	}
	slices.SortFunc(list, func(a, b *Definition) int { return strings.Compare(a.Tag, b.Tag) })
	return list
}
