package infosys

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	ber "github.com/go-asn1-ber/asn1-ber"
	"github.com/go-ldap/ldap/v3"

	"gridbroker/testdata/testbed"
)

func ldapSource(t testing.TB, rawURL string) *LDAP {
	t.Helper()
	u, err := url.Parse(rawURL)
	if err != nil {
		t.Fatal(err)
	}
	l, err := newLDAP(u)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// answer builds one LDAPMessage.
func ldapMessage(id int64, op *ber.Packet, controls ...*ber.Packet) []byte {
	msg := ber.NewSequence("")
	msg.AppendChild(ber.NewInteger(ber.ClassUniversal, ber.TypePrimitive, ber.TagInteger, id, ""))
	msg.AppendChild(op)
	if len(controls) > 0 {
		c := ber.Encode(ber.ClassContext, ber.TypeConstructed, 0, nil, "")
		for _, x := range controls {
			c.AppendChild(x)
		}
		msg.AppendChild(c)
	}
	return msg.Bytes()
}

func octets(s string) *ber.Packet {
	return ber.NewString(ber.ClassUniversal, ber.TypePrimitive, ber.TagOctetString, s, "")
}

func ldapResult(tag ber.Tag, code int, text string) *ber.Packet {
	op := ber.Encode(ber.ClassApplication, ber.TypeConstructed, tag, nil, "")
	op.AppendChild(ber.NewInteger(ber.ClassUniversal, ber.TypePrimitive, ber.TagEnumerated, int64(code), ""))
	op.AppendChild(octets(""))
	op.AppendChild(octets(text))
	return op
}

func ldapEntry(dn string, attrs ...string) *ber.Packet {
	op := ber.Encode(ber.ClassApplication, ber.TypeConstructed, ldap.ApplicationSearchResultEntry, nil, "")
	op.AppendChild(octets(dn))
	list := ber.NewSequence("")
	for i := 0; i < len(attrs); i += 2 {
		attr := ber.NewSequence("")
		attr.AppendChild(octets(attrs[i]))
		set := ber.Encode(ber.ClassUniversal, ber.TypeConstructed, ber.TagSet, nil, "")
		set.AppendChild(octets(attrs[i+1]))
		attr.AppendChild(set)
		list.AppendChild(attr)
	}
	op.AppendChild(list)
	return op
}

func ceEntry(name string) *ber.Packet {
	id := name + ".example.org:8443/cream-pbs-long"
	return ldapEntry("GlueCEUniqueID="+id+",Mds-Vo-name=SITE,o=grid",
		"GlueCEUniqueID", id, "GlueCEName", "long", "GlueCEStateFreeJobSlots", "7")
}

// request is a search as a test server sees it.
type request struct {
	id     int64
	base   string
	class  string // of the filter
	paging *ldap.ControlPaging
}

func readRequest(r io.Reader) (q request, err error) {
	p, err := ber.ReadPacket(r)
	if err != nil {
		return q, err
	}
	q.id, _ = p.Children[0].Value.(int64)
	op := p.Children[1]
	q.base, _ = op.Children[0].Value.(string)
	if filter, err := ldap.DecompileFilter(op.Children[6]); err == nil {
		_, q.class, _ = strings.Cut(strings.Trim(filter, "()"), "=")
	}
	if len(p.Children) > 2 {
		c, err := ldap.DecodeControl(p.Children[2].Children[0])
		if err != nil {
			return q, err
		}
		q.paging, _ = c.(*ldap.ControlPaging)
	}
	return q, nil
}

// serveCEs answers every search for GlueCE with the given queues and all
// others with nothing.
func serveCEs(names ...string) func(net.Conn) {
	return func(conn net.Conn) {
		for {
			q, err := readRequest(conn)
			if err != nil {
				return
			}
			if q.class == "GlueCE" {
				for _, name := range names {
					_, _ = conn.Write(ldapMessage(q.id, ceEntry(name)))
				}
			}
			_, _ = conn.Write(ldapMessage(q.id, ldapResult(ldap.ApplicationSearchResultDone, 0, "")))
		}
	}
}

func TestLDAP(t *testing.T) {
	addr := testbed.Listen(t, serveCEs("a", "b"))
	rs, err := ldapSource(t, "ldap://"+addr+"/Mds-Vo-name=local,o=grid").Resources(t.Context())
	if err != nil || len(rs) != 2 {
		t.Fatalf("%v, %v", rs, err)
	}
	if r := rs[0]; r.CEID != "a.example.org:8443/cream-pbs-long" || r.FreeSlots.V != 7 || r.Site != "SITE" {
		t.Errorf("%+v", r)
	}
}

// A server with a size limit is asked again in pages.
func TestLDAPSizeLimit(t *testing.T) {
	addr := testbed.Listen(t, func(conn net.Conn) {
		for {
			q, err := readRequest(conn)
			if err != nil {
				return
			}
			code, page, cookie := 0, "", ""
			if q.class == "GlueCE" && q.paging == nil {
				code, page = ldap.LDAPResultSizeLimitExceeded, "a"
			} else if q.class == "GlueCE" {
				page = map[string]string{"": "a", "2": "b", "3": "c"}[string(q.paging.Cookie)]
				cookie = map[string]string{"": "2", "2": "3"}[string(q.paging.Cookie)]
			}
			if page != "" {
				_, _ = conn.Write(ldapMessage(q.id, ceEntry(page)))
			}
			control := ldap.NewControlPaging(0)
			control.SetCookie([]byte(cookie))
			_, _ = conn.Write(ldapMessage(q.id, ldapResult(ldap.ApplicationSearchResultDone, code, ""), control.Encode()))
		}
	})
	rs, err := ldapSource(t, "ldap://"+addr+"/o=grid").Resources(t.Context())
	if err != nil || len(rs) != 3 {
		t.Errorf("%d resources, %v", len(rs), err)
	}
}

// Whatever a server does instead of answering, the error names it.
func TestLDAPFaults(t *testing.T) {
	for name, c := range map[string]struct {
		serve func(net.Conn)
		want  string
	}{
		"closes":     {func(net.Conn) {}, "closed the connection"},
		"other talk": {func(c net.Conn) { fmt.Fprint(c, "HTTP/1.1 400 Bad Request\r\n\r\n") }, "not an LDAP message: it starts with \"HTTP/1.1"},
		"huge":       {func(c net.Conn) { _, _ = c.Write([]byte{0x30, 0x84, 0x7f, 0xff, 0xff, 0xff}) }, "more than the limit"},
		"truncated": {func(c net.Conn) {
			text := ldapMessage(1, ceEntry("a"))
			_, _ = c.Write(text[:len(text)-5])
		}, "closed the connection"},
		"not asked": {func(c net.Conn) { _, _ = c.Write(ldapMessage(99, ceEntry("a"))) }, "was not asked"},
		"no base": {func(c net.Conn) {
			_, _ = c.Write(ldapMessage(1, ldapResult(ldap.ApplicationSearchResultDone, ldap.LDAPResultNoSuchObject, "")))
		}, "No Such Object (LDAP result 32)"},
		"busy": {func(c net.Conn) {
			_, _ = c.Write(ldapMessage(1, ldapResult(ldap.ApplicationSearchResultDone, ldap.LDAPResultBusy, "come back later")))
		}, "Busy (LDAP result 51): come back later"},
		"notice": {func(c net.Conn) {
			_, _ = c.Write(ldapMessage(0, ldapResult(ldap.ApplicationExtendedResponse, ldap.LDAPResultUnavailable, "shutting down")))
		}, "Unavailable (LDAP result 52): shutting down"},
	} {
		t.Run(name, func(t *testing.T) {
			addr := testbed.Listen(t, func(conn net.Conn) {
				_, _ = conn.Read(make([]byte, 1))
				c.serve(conn)
				if tcp, ok := conn.(*net.TCPConn); ok { // no reset that would overtake what was written
					_ = tcp.CloseWrite()
					_, _ = io.Copy(io.Discard, conn)
				}
			})
			_, err := ldapSource(t, "ldap://"+addr+"/o=grid").Resources(t.Context())
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), addr) {
				t.Errorf("%v, want %q and %s", err, c.want, addr)
			}
		})
	}
}

// A stream of entries without end stops at the context.
func TestLDAPEndless(t *testing.T) {
	addr := testbed.Listen(t, func(conn net.Conn) {
		text := ldapMessage(1, ceEntry("a"))
		for {
			if _, err := conn.Write(text); err != nil {
				return
			}
			time.Sleep(time.Millisecond)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := ldapSource(t, "ldap://"+addr+"/o=grid").Resources(ctx)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

// 200 sources of which 20 accept connections and never answer.
func TestCollectManySources(t *testing.T) {
	good := testbed.Listen(t, serveCEs("a"))
	silent := testbed.Listen(t, func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) })
	var srcs []Source
	for i := range 200 {
		addr := good
		if i%10 == 0 {
			addr = silent
		}
		l := ldapSource(t, "ldap://"+addr+"/o=grid")
		l.URL = fmt.Sprintf("ldap://source%d", i)
		srcs = append(srcs, l)
	}
	var s Snapshot
	answered := 0
	for deadline := 5 * time.Second; answered < 180 && deadline < 2*time.Minute; deadline *= 2 { // a busy machine may take longer
		start := time.Now()
		s = (&Collector{Deadline: deadline}).Collect(t.Context(), srcs...)
		if took := time.Since(start); took > deadline+30*time.Second { // exact timing: TestCollectIsPartial
			t.Errorf("took %s", took)
		}
		answered = 0
		for _, o := range s.Outcomes {
			if o.Err == nil {
				answered++
			}
		}
	}
	for i, o := range s.Outcomes {
		if silent := i%10 == 0; silent != errors.Is(o.Err, context.DeadlineExceeded) || !silent && o.Resources != 1 {
			t.Errorf("%s: %d resources, %v", o.Source, o.Resources, o.Err)
		}
	}
}

func TestNewLDAPRefuses(t *testing.T) {
	for _, raw := range []string{"ldap:///o=grid", "ldap://h/no-dn", "ldap://u:p@h/o=grid"} {
		u, err := url.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := newLDAP(u); err == nil {
			t.Errorf("%s was accepted", raw)
		} else if strings.Contains(err.Error(), ":p@") {
			t.Errorf("%s: the password is in the message: %v", raw, err)
		}
	}
}
