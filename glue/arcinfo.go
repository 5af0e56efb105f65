package glue

import (
	"cmp"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"gridbroker/foreign"
)

// Limits on ARC's information documents.
const (
	maxDepth = 64      // nesting
	maxText  = 1 << 16 // bytes of text in one element
	maxNodes = 1 << 19 // elements and attributes
	maxParts = 4 << 19 // tags, texts, comments and instructions of XML
	maxPart  = 1 << 20 // bytes of one tag, text or comment, as they are written
)

var (
	errTooManyNodes = fmt.Errorf("more than %d elements", maxNodes)
	errTooManyParts = fmt.Errorf("more than %d tags, texts and comments", maxParts)
)

// node is an element of an information document, whether it came as XML or as
// JSON. ARC's JSON is its XML put over: a list of one may be the bare element.
type node struct {
	name     string
	text     string
	children []*node
}

// AddARCInfoXML takes in the document that ARC serves at rest/VERSION/info as
// XML (GFD.209, the XML rendering of GLUE 2.0).
func (d *Decoder) AddARCInfoXML(r io.Reader) error {
	in := &foreign.Parts{From: r, Most: maxPart}
	dec := xml.NewDecoder(in)
	root := &node{}
	stack := []*open{{node: root}}
	for nodes, parts := 0, 0; ; {
		if parts++; parts > maxParts {
			return errTooManyParts
		}
		in.Next()
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return d.addInfo(root)
		}
		if err != nil {
			return err
		}
		switch tok := tok.(type) {
		case xml.StartElement:
			if len(stack) > maxDepth {
				return errors.New("elements nested too deeply")
			}
			if nodes += 1 + len(tok.Attr); nodes > maxNodes {
				return errTooManyNodes
			}
			if err := d.account.Take(nodeCost * int64(1+len(tok.Attr))); err != nil {
				return err
			}
			n := &node{name: tok.Name.Local}
			for _, a := range tok.Attr {
				n.children = append(n.children, &node{name: a.Name.Local, text: a.Value})
			}
			top := stack[len(stack)-1]
			top.children = append(top.children, n)
			stack = append(stack, &open{node: n})
		case xml.EndElement:
			top := stack[len(stack)-1]
			top.node.text = string(top.text)
			stack = stack[:len(stack)-1]
		case xml.CharData:
			top := stack[len(stack)-1]
			if top.text = append(top.text, tok...); len(top.text) > maxText {
				return fmt.Errorf("element %s has more than %d bytes of text", top.name, maxText)
			}
		}
	}
}

// open is an element whose end has not come yet, with its text so far.
type open struct {
	*node
	text []byte
}

// AddARCInfoJSON takes in the same document as JSON.
func (d *Decoder) AddARCInfoJSON(r io.Reader) error {
	in := &foreign.Parts{From: &unblanked{r: r}, Most: maxPart}
	dec := json.NewDecoder(in)
	dec.UseNumber()
	t := &jsonTree{in: in, dec: dec, account: d.account}
	root := &node{}
	if err := t.add(root, "", 0); err != nil {
		return err
	}
	if len(root.children) == 1 && root.children[0].name == "" {
		root = root.children[0]
	}
	return d.addInfo(root)
}

// maxBlanks is how many blanks in a row a JSON text may have.
const maxBlanks = 4 << 10

var errBlanks = errors.New("blanks without end")

// unblanked is a JSON text without long runs of blanks: whenever a part of one comes, the
// decoder looks at all of it again.
type unblanked struct {
	r   io.Reader
	run int
}

// Read implements io.Reader.
func (u *unblanked) Read(p []byte) (int, error) {
	n, err := u.r.Read(p)
	for _, c := range p[:n] {
		if u.run++; c > ' ' {
			u.run = 0
		}
		if u.run > maxBlanks {
			return 0, errBlanks
		}
	}
	return n, err
}

// jsonTree makes nodes of a JSON text as it is read.
type jsonTree struct {
	in      *foreign.Parts
	dec     *json.Decoder
	nodes   int
	account *Account
}

// add reads the next value and adds it to n as children of that name: one for
// a value, one for each element of a list. The member "_attributes" holds what
// XML has as attributes.
func (t *jsonTree) add(n *node, name string, depth int) error {
	t.in.Next()
	tok, err := t.dec.Token()
	if err != nil {
		return noEnd(err)
	}
	if depth > maxDepth {
		return errors.New("values nested too deeply")
	}
	if t.nodes++; t.nodes > maxNodes {
		return errTooManyNodes
	}
	if err := t.account.Take(nodeCost); err != nil {
		return err
	}
	switch tok {
	case json.Delim('['):
		for t.dec.More() {
			if err := t.add(n, name, depth+1); err != nil {
				return err
			}
		}
	case json.Delim('{'):
		child := n
		if name != "_attributes" {
			child = &node{name: name}
			n.children = append(n.children, child)
		}
		return t.members(child, depth)
	case nil:
		return nil
	default:
		text := fmt.Sprint(tok)
		if len(text) > maxText {
			return fmt.Errorf("element %s has more than %d bytes of text", name, maxText)
		}
		n.children = append(n.children, &node{name: name, text: text})
		return nil
	}
	_, err = t.dec.Token() // the end of the list
	return noEnd(err)
}

// members reads an object to its end.
func (t *jsonTree) members(n *node, depth int) error {
	for t.dec.More() {
		key, err := t.dec.Token()
		if err != nil {
			return noEnd(err)
		}
		if err := t.add(n, fmt.Sprint(key), depth+1); err != nil {
			return err
		}
	}
	_, err := t.dec.Token()
	return noEnd(err)
}

// noEnd says of a text that ends too early what encoding/json says of one.
func noEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// entity tells how the XML rendering's element maps to LDAP's: the prefixes of
// its attributes' names, and the attributes that hold what XML has as nesting.
type entity struct {
	prefixes []string
	parent   string // foreign key to the enclosing entity
}

var entities = map[string]entity{
	"ComputingService":       {[]string{"GLUE2Service", "GLUE2Entity"}, "GLUE2ServiceAdminDomainForeignKey"},
	"ComputingEndpoint":      {[]string{"GLUE2Endpoint", "GLUE2Entity"}, "GLUE2EndpointServiceForeignKey"},
	"ComputingShare":         {[]string{"GLUE2Share", "GLUE2Entity"}, "GLUE2ShareServiceForeignKey"},
	"ComputingManager":       {[]string{"GLUE2Manager", "GLUE2Entity"}, "GLUE2ManagerServiceForeignKey"},
	"ExecutionEnvironment":   {[]string{"GLUE2Resource", "GLUE2Entity"}, "GLUE2ResourceManagerForeignKey"},
	"ApplicationEnvironment": {[]string{"GLUE2Entity"}, "GLUE2ApplicationEnvironmentComputingManagerForeignKey"},
	"Benchmark":              {[]string{"GLUE2Entity"}, "GLUE2BenchmarkExecutionEnvironmentForeignKey"},
	"MappingPolicy":          {[]string{"GLUE2Policy", "GLUE2Entity"}, "GLUE2MappingPolicyShareForeignKey"},
}

// associations maps the members of Associations to LDAP's foreign keys.
var associations = map[string]string{
	"ComputingEndpointID":    "GLUE2ShareEndpointForeignKey",
	"ExecutionEnvironmentID": "GLUE2ShareResourceForeignKey",
}

// addInfo walks the document's domains.
func (d *Decoder) addInfo(root *node) error {
	var domains []*node
	root.find("AdminDomain", &domains)
	if len(domains) == 0 {
		root.find("ComputingService", &domains)
	}
	if len(domains) == 0 {
		return errors.New("no AdminDomain or ComputingService in the document")
	}
	for _, n := range domains {
		d.addNode(n, "")
	}
	return nil
}

// find collects the outermost elements of that name.
func (n *node) find(name string, out *[]*node) {
	if n.name == name {
		*out = append(*out, n)
		return
	}
	for _, c := range n.children {
		c.find(name, out)
	}
}

// addNode hands on n and what is nested in it as the entries that LDAP would
// have. parent is the ID of the entity around.
func (d *Decoder) addNode(n *node, parent string) {
	id := n.child("ID")
	if ent, ok := entities[n.name]; ok {
		e := &Entry{}
		addTo := func(name, value string) { addValue(e, name, value) }
		addTo("objectClass", "GLUE2"+n.name)
		addTo(ent.parent, parent)
		n.leaves(append([]string{"GLUE2" + n.name}, ent.prefixes...), addTo)
		d.Add(e)
	}
	for _, c := range n.children {
		if len(c.children) > 0 {
			d.addNode(c, cmp.Or(id, parent))
		}
	}
}

// child is the text of the first child of that name.
func (n *node) child(name string) string {
	i := slices.IndexFunc(n.children, func(c *node) bool { return c.name == name })
	if i < 0 {
		return ""
	}
	return strings.TrimSpace(n.children[i].text)
}

// leaves gives the values of an entity under each name LDAP may have for them.
func (n *node) leaves(prefixes []string, add func(name, value string)) {
	for _, c := range n.children[:min(len(n.children), maxNames)] {
		switch {
		case c.name == "Associations":
			for _, a := range c.children {
				if key := associations[a.name]; key != "" {
					add(key, strings.TrimSpace(a.text))
				}
			}
		case len(c.children) == 0:
			for _, p := range prefixes {
				add(p+c.name, strings.TrimSpace(c.text))
			}
		}
	}
}

func addValue(e *Entry, name, value string) {
	if value == "" {
		return
	}
	for i := range e.Attrs {
		if string(e.Attrs[i].Name) == name {
			e.Attrs[i].Values = append(e.Attrs[i].Values, []byte(value))
			return
		}
	}
	e.Attrs = append(e.Attrs, Attr{Name: []byte(name), Values: [][]byte{[]byte(value)}})
}
