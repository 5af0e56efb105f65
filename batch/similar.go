package batch

import (
	"math"
	"math/bits"
	"slices"
	"sort"
)

// Similar believes the weighted mean of what similar jobs took that ran longer
// than this one has: of the user's last jobs the more recent count more, and
// the more the closer their limit and width are to the job's; beside them what
// all users' last jobs with a limit of about this size used of theirs. It knows
// not only the mean but the whole distribution: see Level and Draws.
type Similar struct {
	users   map[int64]*pastJobs
	like    [64]*pastJobs // of all users, by the size of the limit
	recency [remembered]float64
	spreads map[likeness]*spread // of users' jobs, made when asked for
	shares  [64]*spread          // of what was used of limits, in millionths
}

// The weights were chosen on two logs (KTH-SP2, SDSC-SP2) by the error of the
// starts foretold.
const (
	similarDecay = 0.9 // weight of a job against that of the one after it
	similarLimit = 100 // factor for a job with the same limit; none for one twice or half as long
	similarProcs = 10  // factor for a job of the same width; none for one twice or half as wide
	similarPrior = 3   // weight of what all users' jobs tell
	million      = 1e6
)

// likeness is what decides a spread.
type likeness struct {
	user, limit int64
	procs       int32
}

// spread is a distribution: values in order, and the weight and the weighted sum
// of each with all before it.
type spread struct {
	values      []int64
	weight, sum []float64
	made        int // jobs there were when it was made
}

// weighed is one value of a spread to be.
type weighed struct {
	value  int64
	weight float64
}

func newSpread(list []weighed, made int) *spread {
	slices.SortFunc(list, func(a, b weighed) int { return int(a.value - b.value) })
	s := &spread{made: made}
	weight, sum := 0.0, 0.0
	for _, o := range list {
		weight, sum = weight+o.weight, sum+o.weight*float64(o.value)
		s.values, s.weight, s.sum = append(s.values, o.value), append(s.weight, weight), append(s.sum, sum)
	}
	return s
}

// upTo is the weight and the weighted sum of all values up to v.
func (s *spread) upTo(v int64) (weight, sum float64) {
	i := sort.Search(len(s.values), func(i int) bool { return s.values[i] > v })
	if i == 0 {
		return 0, 0
	}
	return s.weight[i-1], s.sum[i-1]
}

// above is the weight and the weighted sum of all values above v.
func (s *spread) above(v int64) (weight, sum float64) {
	if len(s.values) == 0 {
		return 0, 0
	}
	weight, sum = s.upTo(v)
	k := len(s.values) - 1
	if s.values[k] <= v {
		return 0, 0
	}
	return s.weight[k] - weight, s.sum[k] - sum
}

// NewSimilar has seen no job.
func NewSimilar() *Similar {
	b := &Similar{users: map[int64]*pastJobs{}, spreads: map[likeness]*spread{}}
	for i := range b.recency {
		b.recency[i] = math.Pow(similarDecay, float64(i))
	}
	return b
}

// Run implements Belief.
func (b *Similar) Run(t *Task, elapsed int64) int64 {
	limit := max(t.Limit, elapsed+1)
	weight, sum := b.user(t).above(elapsed)
	share, used := b.all(t.Limit).above(elapsed * million / max(t.Limit, 1))
	if share > 0 {
		sum += similarPrior * used / share * float64(t.Limit) / million
		weight += similarPrior
	}
	if weight == 0 {
		return limit
	}
	return min(max(int64(sum/weight), elapsed+1), limit)
}

// quantile is the run time below which a part u of the weight lies, of jobs
// that ran longer than elapsed.
func (b *Similar) quantile(t *Task, elapsed int64, u float64) int64 {
	limit := max(t.Limit, elapsed+1)
	mine, all := b.user(t), b.all(t.Limit)
	part := func(v int64) int64 { return v * million / max(t.Limit, 1) }
	weight, _ := mine.above(elapsed)
	share, _ := all.above(part(elapsed))
	prior := 0.0
	if share > 0 {
		prior = similarPrior / share
	}
	if weight == 0 && prior == 0 {
		return limit
	}
	before, _ := mine.upTo(elapsed)
	others, _ := all.upTo(part(elapsed))
	want := u * (weight + prior*share)
	low, high := elapsed+1, limit
	for low < high {
		mid := low + (high-low)/2
		w, _ := mine.upTo(mid)
		o, _ := all.upTo(part(mid))
		if w-before+prior*(o-others) >= want {
			high = mid
		} else {
			low = mid + 1
		}
	}
	return low
}

// maxSpreads bounds the memory of spreads made.
const maxSpreads = 1 << 14

// user is the spread of what the user's jobs took, by likeness to a job.
func (b *Similar) user(t *Task) *spread {
	p := b.users[t.User]
	if p == nil {
		return &spread{}
	}
	key := likeness{t.User, t.Limit, int32(t.Procs)}
	if s := b.spreads[key]; s != nil && s.made == p.n {
		return s
	}
	list := make([]weighed, min(p.n, remembered))
	for i := range list {
		past := &p.jobs[(p.n-1-i)%remembered]
		w := b.recency[i] * closeness(similarLimit, past.limit, t.Limit) * closeness(similarProcs, int64(past.procs), int64(t.Procs))
		list[i] = weighed{min(past.run, t.Limit), w}
	}
	if len(b.spreads) >= maxSpreads {
		clear(b.spreads)
	}
	s := newSpread(list, p.n)
	b.spreads[key] = s
	return s
}

// closeness is the factor where two amounts are equal, falling to 1 where one is twice
// the other.
func closeness(factor float64, a, b int64) float64 {
	off := math.Abs(math.Log2(float64(max(a, 1)) / float64(max(b, 1))))
	if off >= 1 {
		return 1
	}
	return math.Pow(factor, 1-off)
}

// all is the spread of what all users' jobs with about this limit used of it.
func (b *Similar) all(limit int64) *spread {
	k := bits.Len64(uint64(max(limit, 0))) % 64
	p := b.like[k]
	if p == nil {
		return &spread{}
	}
	if s := b.shares[k]; s != nil && s.made == p.n {
		return s
	}
	list := make([]weighed, min(p.n, remembered))
	for i := range list {
		past := &p.jobs[i]
		list[i] = weighed{min(past.run, past.limit) * million / past.limit, 1}
	}
	b.shares[k] = newSpread(list, p.n)
	return b.shares[k]
}

// Learn implements Belief.
func (b *Similar) Learn(t *Task) {
	past := pastJob{max(t.Run, 1), max(t.Limit, t.Run, 1), int32(t.Procs)}
	b.users[t.User] = b.users[t.User].with(past)
	k := bits.Len64(uint64(past.limit)) % 64
	b.like[k] = b.like[k].with(past)
}

// with is a copy with one job more: copies of a belief share what was there.
func (p *pastJobs) with(j pastJob) *pastJobs {
	c := &pastJobs{}
	if p != nil {
		*c = *p
	}
	c.add(j)
	return c
}

// Copy implements Copier.
func (b *Similar) Copy() Belief {
	c := NewSimilar()
	for user, p := range b.users {
		c.users[user] = p
	}
	c.like = b.like
	return c
}

// Level believes that every job runs as long as a part u of those like it do
// at most. It learns nothing: what it is a level of does.
func (b *Similar) Level(u float64) Belief { return level{b, u} }

type level struct {
	b *Similar
	u float64
}

func (l level) Run(t *Task, elapsed int64) int64 { return l.b.quantile(t, elapsed, l.u) }
func (l level) Learn(*Task)                      {}

// Draws are beliefs that differ by chance as run times do: each takes jobs of a
// kind (owner, limit, width) to run as long as one of those like them did; over
// all draws, whose number is to be a prime, the places in their order are spread
// evenly. Equal jobs run equally long in one draw, since they do so in the world.
// The same draw of the same job is the same for ever.
func (b *Similar) Draws(prime int) []Belief {
	list := make([]Belief, prime)
	for i := range list {
		list[i] = draw{b, i, prime}
	}
	return list
}

type draw struct {
	b          *Similar
	number, of int
}

func (d draw) Run(t *Task, elapsed int64) int64 {
	h := mix(mix(mix(uint64(t.User))^uint64(t.Limit)) ^ uint64(t.Procs))
	shift, stride := int(h%uint64(d.of)), 1
	if d.of > 2 {
		stride = 1 + int(h>>20%uint64(d.of-1))
	}
	place := (d.number*stride + shift) % d.of
	within := float64(h>>40%1024) / 1024
	return d.b.quantile(t, elapsed, (float64(place)+within)/float64(d.of))
}

func (d draw) Learn(*Task) {}

// mix spreads the bits of a number over all 64 (splitmix64).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
