package glue

import (
	"maps"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"gridbroker/jdl/classad"
)

// This file holds the attributes that are put together from several fields.

// ceUniqueID makes an identifier in the form GLUE 1.3 used for ARC:
// host:port/nordugrid-LRMS-queue.
func ceUniqueID(hostport, lrms, queue string) string {
	return named(hostport, "/nordugrid-", strings.ToLower(lrms), "-", queue)
}

// maxName is longer than any name of a queue with its host is.
const maxName = 1024

// named makes a name of its parts. Where that were longer than names are the last stands
// alone: one long text that many shares have is kept once, and no copy of it in each name.
func named(parts ...string) string {
	n := 0
	for _, part := range parts {
		n += len(part)
	}
	if n > maxName {
		return parts[len(parts)-1]
	}
	return strings.Join(parts, "")
}

// hostPort returns the host and port of a URL, with the scheme's usual port
// filled in; empty strings when there is none.
func hostPort(rawURL string) (host, port string) {
	u, err := url.Parse(rawURL)
	if err != nil || u.Host == "" {
		return "", ""
	}
	port = u.Port()
	if port == "" {
		port = usualPorts[u.Scheme]
	}
	return strings.ToLower(u.Hostname()), port
}

var usualPorts = map[string]string{"https": "443", "http": "80", "gsiftp": "2811", "ldap": "389"}

// gatekeeperPort is the port in GlueCEUniqueID. GLUE 1.3 publishes it as a
// string.
func gatekeeperPort(r *Resource) (classad.Value, bool) {
	hostport, _, _ := strings.Cut(r.CEID, "/")
	_, port, err := net.SplitHostPort(hostport)
	return classad.StringValue(port), err == nil && port != ""
}

func endpointURLs(r *Resource) []string {
	urls := make([]string, len(r.Endpoints))
	for i, e := range r.Endpoints {
		urls[i] = e.URL
	}
	return urls
}

// endpointText reads the best endpoint.
func endpointText(f func(*Endpoint) string) Getter {
	return text(func(r *Resource) string {
		if len(r.Endpoints) == 0 {
			return ""
		}
		return f(&r.Endpoints[0])
	})
}

func defaultSE(r *Resource) string {
	if len(r.CloseSEs) == 0 {
		return ""
	}
	return r.CloseSEs[0].SE
}

// storage is the record that gLite's broker adds to a resource, so that a job
// can ask about storage near it: storage.CloseSEs is a list of records with
// GlueSEUniqueID, GlueCESEBindMountInfo and what else is published of the
// storage element.
func storage(r *Resource) (classad.Value, bool) {
	if len(r.CloseSEs) == 0 {
		return classad.Value{}, false
	}
	ses := make([]classad.Value, len(r.CloseSEs))
	for i, b := range r.CloseSEs {
		ses[i] = classad.RecordValue(b.record())
	}
	ad := classad.NewAd()
	ad.Set("CloseSEs", classad.NewLiteral(classad.ListValue(ses)))
	return classad.RecordValue(ad), true
}

func (b StorageBinding) record() *classad.Ad {
	ad := classad.NewAd()
	ad.Set("GlueSEUniqueID", classad.NewLiteral(classad.StringValue(b.SE)))
	if b.Mount != "" {
		ad.Set("GlueCESEBindMountInfo", classad.NewLiteral(classad.StringsValue([]string{b.Mount})))
	}
	for _, name := range slices.Sorted(maps.Keys(b.Attrs)) {
		if v, ok := guess(strings.ToLower(name), b.Attrs[name]); ok {
			ad.Set(name, classad.NewLiteral(v))
		}
	}
	return ad
}

func closeStorage(r *Resource) []string {
	var names []string
	for _, b := range r.CloseSEs {
		names = append(names, b.SE)
	}
	return names
}

// status13 is the serving state as GLUE 1.3 writes it: Production.
func status13(r *Resource) string {
	switch r.Serving {
	case Unknown:
		return ""
	case Production: // nearly all
		return "Production"
	}
	return strings.ToUpper(string(r.Serving[:1])) + string(r.Serving[1:])
}

// platform13 is the platform as GLUE 1.3 writes it: the machine's uname.
func platform13(r *Resource) string {
	if r.Platform == "amd64" {
		return "x86_64"
	}
	return r.Platform
}

func preemption13(r *Resource) Opt[int64] {
	if !r.Preemption.OK {
		return Opt[int64]{}
	}
	if r.Preemption.V {
		return Some[int64](1)
	}
	return Some[int64](0)
}

// freeSlotsWithDuration writes FreeFor as GFD.147 does: slots[:seconds] ...
func freeSlotsWithDuration(r *Resource) string {
	var b strings.Builder
	for i, f := range r.FreeFor {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(strconv.FormatInt(f.Slots, 10))
		if f.Duration > 0 {
			b.WriteByte(':')
			b.WriteString(strconv.FormatInt(int64(f.Duration/time.Second), 10))
		}
	}
	return b.String()
}

// tagList is a list of runtime environments as a value, made once for all the
// resources that share it, when one is first asked for it: most never are.
type tagList struct {
	names []string
	once  sync.Once
	value classad.Value
}

func (t *tagList) asValue() classad.Value {
	t.once.Do(func() { t.value = classad.StringsValue(t.names) })
	return t.value
}

// Seal makes one tag value for each list that resources share. Their lists are
// not changed afterwards.
func Seal(rs []Resource) {
	lists := map[*string]*tagList{}
	for i := range rs {
		r := &rs[i]
		if len(r.RuntimeEnvironments) == 0 {
			continue
		}
		at := &r.RuntimeEnvironments[0]
		if lists[at] == nil {
			lists[at] = newTagList(r.RuntimeEnvironments)
		}
		r.tags = lists[at]
	}
}

func newTagList(names []string) *tagList {
	return &tagList{names: names}
}

func runtimeEnvironments(r *Resource) (classad.Value, bool) {
	if len(r.RuntimeEnvironments) == 0 {
		return classad.Value{}, false
	}
	if t := r.tags; t != nil && sameSlice(t.names, r.RuntimeEnvironments) {
		return t.asValue(), true
	}
	return classad.StringsValue(r.RuntimeEnvironments), true
}

// sameSlice reports whether a and b are the same stretch of memory.
func sameSlice(a, b []string) bool {
	return len(a) == len(b) && len(a) > 0 && &a[0] == &b[0]
}

// Seal prepares a resource that was put together by hand or read from a file
// for many Lookups of its runtime environments.
func (r *Resource) Seal() { r.tags = newTagList(r.RuntimeEnvironments) }
