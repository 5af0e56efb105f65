package glue

import (
	"bytes"
	"iter"
	"strconv"
	"strings"
)

// Entry is one directory entry on its way into a Decoder. Its bytes belong to
// whoever reads the stream and are valid during one call only.
type Entry struct {
	DN    []byte
	Attrs []Attr
}

// Attr is one attribute of an Entry with all its values. Names are as the
// server spells them.
type Attr struct {
	Name   []byte
	Values [][]byte
}

// kind is what an entry describes.
type kind uint8

const (
	kindNone kind = iota
	kindCE
	kindView
	kindCluster
	kindSubCluster

	kindSE
	kindService13
	kindBind
	kindDomain
	kindService
	kindEndpoint
	kindShare
	kindManager
	kindEnvironment
	kindApplication
	kindBenchmark
	kindMapping
	kindNGCluster
	kindNGQueue
)

// kinds maps lower-cased object classes.
var kinds = map[string]kind{
	"gluece": kindCE, "gluevoview": kindView, "gluecluster": kindCluster,
	"gluesubcluster": kindSubCluster, "gluecesebind": kindBind, "gluese": kindSE, "glueservice": kindService13,
	"glue2admindomain": kindDomain, "glue2computingservice": kindService,
	"glue2computingendpoint": kindEndpoint, "glue2computingshare": kindShare,
	"glue2computingmanager": kindManager, "glue2executionenvironment": kindEnvironment,
	"glue2applicationenvironment": kindApplication, "glue2benchmark": kindBenchmark,
	"glue2mappingpolicy": kindMapping,
	"nordugrid-cluster":  kindNGCluster, "nordugrid-queue": kindNGQueue,
}

// kindsByRDN is for entries that came without object classes: the attribute
// that names such an entry.
var kindsByRDN = map[string]kind{
	"glueceuniqueid": kindCE, "gluevoviewlocalid": kindView, "glueclusteruniqueid": kindCluster,
	"gluesubclusteruniqueid": kindSubCluster, "gluecesebindseuniqueid": kindBind, "glueseuniqueid": kindSE, "glueserviceuniqueid": kindService13,
	"glue2domainid": kindDomain, "glue2serviceid": kindService, "glue2endpointid": kindEndpoint,
	"glue2shareid": kindShare, "glue2managerid": kindManager, "glue2resourceid": kindEnvironment,
	"glue2applicationenvironmentid": kindApplication, "glue2benchmarkid": kindBenchmark,
	"glue2policyid":          kindMapping,
	"nordugrid-cluster-name": kindNGCluster, "nordugrid-queue-name": kindNGQueue,
}

// values gives those of an attribute by its lower-cased name.
func (e *Entry) values(lower string) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for i := range e.Attrs {
			if !foldEqual(e.Attrs[i].Name, lower) {
				continue
			}
			for _, v := range e.Attrs[i].Values {
				if len(v) <= maxValue && !yield(v) {
					return
				}
			}
		}
	}
}

// kindOf tells what e describes.
func kindOf(e *Entry) kind {
	var buf [64]byte
	for i := range e.Attrs {
		if !foldEqual(e.Attrs[i].Name, "objectclass") {
			continue
		}
		for _, class := range e.Attrs[i].Values {
			if k := lookupKind(kinds, buf[:0], class); k != kindNone {
				return k
			}
		}
		return kindNone
	}
	for i, c := range e.DN {
		if c == '=' {
			return lookupKind(kindsByRDN, buf[:0], e.DN[:i])
		}
	}
	return kindNone
}

// IsQueue tells whether an entry is what resources are made of: a GlueCE, a
// ComputingShare or a queue of ARC.
func (e *Entry) IsQueue() bool {
	k := kindOf(e)
	return k == kindCE || k == kindShare || k == kindNGQueue
}

// Class names what an entry describes: its most special object class, of those
// of GLUE and ARC if there are any; else what its DN begins with.
func (e *Entry) Class() string {
	class := ""
	for i := range e.Attrs {
		if !foldEqual(e.Attrs[i].Name, "objectclass") {
			continue
		}
		for _, v := range e.Attrs[i].Values {
			s := string(v)
			general := strings.HasSuffix(s, "Key") || strings.HasSuffix(s, "Version") || strings.HasSuffix(s, "Top") || s == "GLUE2Entity"
			if !general && len(s) > 4 && strings.EqualFold(s[:4], "glue") || strings.HasPrefix(s, "nordugrid-") {
				class = s
			}
		}
	}
	if name, _, ok := cutByte(e.DN, '='); ok && class == "" {
		class = string(name)
	}
	return class
}

func lookupKind(table map[string]kind, buf, name []byte) kind {
	if len(name) > cap(buf) {
		return kindNone
	}
	return table[string(lowerInto(buf, name))]
}

// foldEqual compares without regard to ASCII case; lower is lower-cased.
func foldEqual(name []byte, lower string) bool {
	if len(name) != len(lower) {
		return false
	}
	for i, c := range name {
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

// rdn returns the value of the first relative DN in dn whose attribute is attr
// (lower-cased), leaving out those whose value is in skip. Escapes are taken off.
func rdn(dn []byte, attr string, skip ...string) []byte {
	for len(dn) > 0 {
		part, rest := cutRDN(dn)
		dn = rest
		name, value, ok := cutByte(part, '=')
		if ok && foldEqual(trimSpace(name), attr) && !anyFold(value, skip) {
			return unescape(value)
		}
	}
	return nil
}

func anyFold(value []byte, list []string) bool {
	for _, s := range list {
		if foldEqual(value, s) {
			return true
		}
	}
	return false
}

// cutRDN cuts dn at the first comma that is not escaped.
func cutRDN(dn []byte) (first, rest []byte) {
	for i := 0; i < len(dn); i++ {
		switch dn[i] {
		case '\\':
			i++
		case ',':
			return dn[:i], dn[i+1:]
		}
	}
	return dn, nil
}

func cutByte(b []byte, sep byte) (before, after []byte, ok bool) {
	for i, c := range b {
		if c == sep {
			return b[:i], b[i+1:], true
		}
	}
	return b, nil, false
}

func trimSpace(b []byte) []byte {
	for len(b) > 0 && b[0] == ' ' {
		b = b[1:]
	}
	for len(b) > 0 && b[len(b)-1] == ' ' {
		b = b[:len(b)-1]
	}
	return b
}

// unescape takes the escapes of RFC 4514 off: a backslash before a character, or
// before the two hexadecimal digits of a byte.
func unescape(b []byte) []byte {
	i := bytes.IndexByte(b, '\\')
	if i < 0 {
		return b
	}
	out := append([]byte(nil), b[:i]...)
	for ; i < len(b); i++ {
		c := b[i]
		if c == '\\' && i+1 < len(b) {
			i++
			c = b[i]
			if two := b[i:min(i+2, len(b))]; len(two) == 2 {
				if n, err := strconv.ParseUint(string(two), 16, 8); err == nil {
					c = byte(n)
					i++
				}
			}
		}
		out = append(out, c)
	}
	return out
}
