package glue

import (
	"iter"
	"slices"
	"sync"
	"time"
)

// Decoder puts the entries of one source together into resources. Entries may
// come in any order and of all schemas at once. The zero Decoder is not
// usable; see NewDecoder.
type Decoder struct {
	source string
	extra  []string // lower-cased
	pool   pool
	lists  lists
	texts  []string // room for those of the entry at hand
	store  store
	glue1  glue13
	glue2  glue20
	ng     nordugrid
	n      int
	big    int // CEs, views, shares and queues
	others int // bytes that computing elements, endpoints, nodes and managers take beside their texts

	bounds *bounds
	own    weight // of what the bounds hold

	account *Account
	paid    int64
}

// What a resource and an element of a document cost an account.
const (
	resourceCost = 1280
	nodeCost     = 128
)

// otherCosts is what an entry takes beside its texts, in bytes, where that counts.
var otherCosts = [...]int{kindCluster: 512, kindSubCluster: 512, kindService: 512, kindEndpoint: 512,
	kindManager: 512, kindEnvironment: 512, kindNGCluster: resourceCost, kindNGQueue: 0}

// Charge has the decoder pay for what it keeps.
func (d *Decoder) Charge(a *Account) { d.account = a }

// NewDecoder makes a Decoder. source goes into Resource.Source; extra names
// attributes (any case) outside of Lookup's table to keep in Resource.Attrs.
func NewDecoder(source string, extra ...string) *Decoder {
	d := &Decoder{source: source, bounds: &bounds{}}
	for _, name := range extra {
		d.extra = append(d.extra, string(lowerInto(nil, name)))
	}
	d.glue1.init(d)
	d.glue2.init(d)
	d.ng.init(d)
	return d
}

// Add takes in one entry; nothing of it is kept but copies. Beyond the limit
// of Err shares are left out.
func (d *Decoder) Add(e *Entry) { d.add(kindOf(e), e) }

// Found is Add for what a query has found: an entry of another kind, which was not
// asked for, is passed over. So a server that answers every query with the same is
// believed once. It tells whether the entry is of use.
func (d *Decoder) Found(q *Query, e *Entry) bool {
	k := kindOf(e)
	return k == q.kind && d.add(k, e)
}

// add tells whether an entry is of use. A share without a name is not.
func (d *Decoder) add(k kind, e *Entry) (used bool) {
	if k == kindNone || d.Err() != nil {
		return false
	}
	switch {
	case k <= kindBind:
		used = d.glue1.add(k, e)
	case k <= kindMapping:
		used = d.glue2.add(k, e)
	default:
		used = d.ng.add(k, e)
	}
	if !used {
		return false
	}
	d.n++
	switch k {
	case kindCE, kindView, kindShare, kindNGQueue:
		d.big++
	default:
		d.others += otherCosts[k]
	}
	return true
}

// pay settles what is kept and not paid for.
func (d *Decoder) pay() error {
	cost := int64(d.Kept()) + resourceCost*int64(d.big)
	if d.account == nil || cost <= d.paid {
		return nil
	}
	err := d.account.keep(cost - d.paid)
	if err == nil {
		d.paid = cost
	}
	return err
}

// Kept is how many bytes are kept of what was taken in, but for what shares take
// beside their texts.
func (d *Decoder) Kept() int { return d.pool.bytes + d.lists.bytes + d.store.bytes + d.others }

// Entries is how many entries of use were taken in.
func (d *Decoder) Entries() int { return d.n }

// Resources joins what was added. now is the time of fetching. The decoder is
// not to be used afterwards. Views of one share in several schemas are
// merged; the result is sorted by ID.
func (d *Decoder) Resources(now time.Time) []Resource { return Join(now, d) }

// Join is Resources of several decoders at once, each of which took in a part
// of one source's entries that needs no other part: a tree of a directory.
func Join(now time.Time, ds ...*Decoder) []Resource {
	n, ces := 0, 0
	for _, d := range ds {
		n, ces = n+d.big, ces+d.glue1.ces.n
	}
	m := newMerger(now, make([]Resource, n), ces) // the only ones: what is not needed is never written to
	parts := make([]joined, len(ds))
	var wg sync.WaitGroup
	for i, d := range ds {
		own := m.room(d.glue2.shares.n + len(d.ng.queues))
		wg.Go(func() { parts[i] = d.joined(now, own) })
	}
	wg.Wait()
	for i := range parts {
		m.join(&parts[i])
	}
	return m.merge()
}

// joined is what a decoder's entries give, by schema.
type joined struct {
	glue2, ng []*Resource
	ces       []part // what each gives, with its views, is made when it is merged
	glue1     *join13
}

// joined puts the shares together from their entries, which are given up on the way,
// but for those of GLUE 1.3.
func (d *Decoder) joined(now time.Time, own *room) (j joined) {
	j.glue2 = d.glue2.resources(own)
	d.glue2 = glue20{}
	j.glue1, j.ces = d.glue1.index(now), d.glue1.ces.all()
	d.glue1 = glue13{}
	j.ng = d.ng.resources(own)
	for _, rs := range [][]*Resource{j.glue2, j.ng} {
		for _, r := range rs {
			r.Source, r.Fetched = d.source, now
		}
	}
	return j
}

// room hands out the resources of an array one after the other.
type room struct{ free []Resource }

func (o *room) next() *Resource {
	r := &o.free[0]
	o.free = o.free[1:]
	return r
}

// key names an object within its site: identifiers are not unique on a grid.
type key struct{ site, id string }

// setter takes one value of an attribute into x.
type setter[T any] func(d *Decoder, x *T, value []byte)

// setters is a table of attributes by lower-cased name. One without a setter
// is read when the entry comes.
type setters[T any] map[string]setter[T]

// apply runs the setters over the entry's values. What the table does not
// know but the caller asked for goes to attrs.
func apply[T any](d *Decoder, table setters[T], x *T, e *Entry, attrs *map[string][]string) {
	var buf [64]byte
	for i := range e.Attrs {
		a := &e.Attrs[i]
		if len(a.Name) > len(buf) {
			continue
		}
		name := lowerInto(buf[:0], a.Name)
		if set := table[string(name)]; set != nil {
			for _, v := range a.Values {
				if len(v) <= maxValue {
					set(d, x, v)
				}
			}
		}
		if i := d.extraNumber(name); attrs != nil && i >= 0 {
			for _, v := range a.Values {
				d.keepExtra(attrs, i, v)
			}
		}
	}
}

// extraNumber is which of the attributes asked for besides the name is; below
// 0: none.
func (d *Decoder) extraNumber(lower []byte) int {
	return slices.IndexFunc(d.extra, func(name string) bool { return name == string(lower) })
}

func (d *Decoder) keepExtra(attrs *map[string][]string, i int, v []byte) {
	if *attrs == nil {
		*attrs = map[string][]string{}
	}
	name := d.extra[i]
	(*attrs)[name] = append((*attrs)[name], d.pool.str(v))
}

// slab keeps many values of one type in chunks, so that pointers to them hold
// and growing copies nothing.
type slab[T any] struct {
	chunks [][]T
	n      int
}

const slabChunk = 64

// add makes room for one more value and returns it.
func (s *slab[T]) add() *T {
	if s.n%slabChunk == 0 {
		s.chunks = append(s.chunks, make([]T, 0, slabChunk))
	}
	last := &s.chunks[len(s.chunks)-1]
	*last = (*last)[:len(*last)+1]
	s.n++
	return &(*last)[len(*last)-1]
}

// take goes through the values and gives each chunk up behind it.
func (s *slab[T]) take() iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for i, chunk := range s.chunks {
			for i := range chunk {
				if !yield(&chunk[i]) {
					return
				}
			}
			s.chunks[i] = nil
		}
	}
}

// all lists the values and gives up the chunks.
func (s *slab[T]) all() []T {
	list := make([]T, 0, s.n)
	for i, chunk := range s.chunks {
		list = append(list, chunk...)
		s.chunks[i] = nil
	}
	return list
}
