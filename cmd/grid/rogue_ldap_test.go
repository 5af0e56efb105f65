package main_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	ber "github.com/go-asn1-ber/asn1-ber"

	"gridbroker/testdata/testbed"
)

// tlv is an element of BER: a tag and what is in it.
func tlv(tag byte, parts ...[]byte) []byte {
	body := bytes.Join(parts, nil)
	head := []byte{tag, 0x84, 0, 0, 0, 0}
	binary.BigEndian.PutUint32(head[2:], uint32(len(body)))
	return append(head, body...)
}

func ldapMessage(id int64, op []byte, controls ...[]byte) []byte {
	return tlv(0x30, append([][]byte{tlv(0x02, []byte{byte(id >> 8), byte(id)}), op}, controls...)...)
}

func ldapDone(code byte, words string) []byte {
	return tlv(0x65, tlv(0x0a, []byte{code}), tlv(0x04), tlv(0x04, []byte(words)))
}

func ldapEntry(dn string, attrs ...[]byte) []byte {
	return tlv(0x64, tlv(0x04, []byte(dn)), tlv(0x30, attrs...))
}

func ldapAttr(name string, values ...string) []byte {
	var set [][]byte
	for _, v := range values {
		set = append(set, tlv(0x04, []byte(v)))
	}
	return tlv(0x30, tlv(0x04, []byte(name)), tlv(0x31, set...))
}

// search is what a rogue directory is asked.
type search struct {
	conn  net.Conn
	id    int64
	base  string
	turn  int // of this connection, from 0
	paged bool
}

// say tells whether somebody still listens.
func (s search) say(parts ...[]byte) bool {
	for _, part := range parts {
		if _, err := s.conn.Write(part); err != nil {
			return false
		}
	}
	return true
}

// giants are operations that are large to make: each is made once.
var (
	emptyAttributes = sync.OnceValue(func() []byte {
		return tlv(0x64, tlv(0x04), tlv(0x30, bytes.Repeat([]byte{0x30, 4, 4, 0, 0x31, 0}, 4_000_000/6)))
	})
	emptyValues = sync.OnceValue(func() []byte {
		return tlv(0x64, tlv(0x04), tlv(0x30, tlv(0x30, tlv(0x04, []byte("objectClass")), tlv(0x31, bytes.Repeat([]byte{4, 0}, 4_000_000/2)))))
	})
	giantWords = sync.OnceValue(func() []byte { return ldapDone(1, strings.Repeat("\x1b[31m\n", 1<<19)) })
)

// pour says one thing again and again for so many bytes.
func (s search) pour(what []byte, size int) {
	block := bytes.Repeat(what, 1+(64<<10)/len(what))
	for n := 0; n < size; n += len(block) {
		if _, err := s.conn.Write(block); err != nil {
			return
		}
	}
}

// inBlocks says n entries, many at a time, and that this is all.
func (s search) inBlocks(n int, entry func(i int) []byte) {
	var block []byte
	for i := range n {
		block = append(block, ldapMessage(s.id, entry(i))...)
		if len(block) > 1<<20 || i == n-1 {
			if !s.say(block) {
				return
			}
			block = block[:0]
		}
	}
	s.say(ldapMessage(s.id, ldapDone(0, "")))
}

// rogueLDAP is a directory that answers each search as it likes.
func rogueLDAP(t testing.TB, answer func(search)) string {
	return testbed.Listen(t, func(conn net.Conn) {
		for turn := 0; ; turn++ {
			p, err := ber.ReadPacket(conn)
			if err != nil || len(p.Children) < 2 || len(p.Children[1].Children) == 0 {
				return
			}
			id, _ := p.Children[0].Value.(int64)
			base, _ := p.Children[1].Children[0].Value.(string)
			answer(search{conn, id, base, turn, len(p.Children) > 2})
		}
	})
}

// cookie is a paging control with a cookie, as a server answers it.
func cookie(text string) []byte {
	value := tlv(0x30, tlv(0x02, []byte{0}), tlv(0x04, []byte(text)))
	return tlv(0xa0, tlv(0x30, tlv(0x04, []byte("1.2.840.113556.1.4.319")), tlv(0x04, value)))
}

// rogueDirectories are answers that mean ill, each to every search below a tree.
var rogueDirectories = map[string]func(search){
	"shares without names": func(s search) {
		s.pour(ldapMessage(s.id, ldapEntry("o=glue", ldapAttr("objectClass", "GLUE2ComputingShare"))), 60<<20)
		s.say(ldapMessage(s.id, ldapDone(0, "")))
	},
	"shares without end": func(s search) {
		s.inBlocks(200_000, func(i int) []byte {
			return ldapEntry(fmt.Sprint("GLUE2ShareID=", i, ",o=glue"), ldapAttr("objectClass", "GLUE2ComputingShare"))
		})
	},
	"shares of both schemas without names": func(s search) {
		class := "GLUE2ComputingShare"
		if s.base != "o=glue" {
			class = "GlueCE"
		}
		s.pour(ldapMessage(s.id, ldapEntry(s.base, ldapAttr("objectClass", class))), 60<<20)
		s.say(ldapMessage(s.id, ldapDone(0, "")))
	},
	"named shares of both schemas": func(s search) {
		name, class := "GLUE2ShareID", "GLUE2ComputingShare"
		if s.base != "o=glue" {
			name, class = "GlueCEUniqueID", "GlueCE"
		}
		s.inBlocks(300_000, func(i int) []byte {
			id := fmt.Sprintf("ce%d.example.org:8443/cream-pbs-q", i)
			return ldapEntry(fmt.Sprintf("%s=%s,%s", name, id, s.base), ldapAttr("objectClass", class), ldapAttr(name, id))
		})
	},
	"one service and its environment": func(s search) {
		s.pour(slices.Concat(ldapMessage(s.id, ldapEntry("GLUE2ServiceID=a,o=glue", ldapAttr("GLUE2ServiceID", "a"))),
			ldapMessage(s.id, ldapEntry("GLUE2ApplicationEnvironmentID=x,GLUE2ManagerID=a,o=glue", ldapAttr("GLUE2ApplicationEnvironmentAppName", "x")))), 1<<40)
	},
	"empty entries": func(s search) { s.pour(ldapMessage(s.id, ldapEntry("")), 1<<40) },
	"empty attributes": func(s search) {
		s.say(ldapMessage(s.id, emptyAttributes()))
		s.say(ldapMessage(s.id, ldapDone(0, "")))
	},
	"empty values": func(s search) {
		s.say(ldapMessage(s.id, emptyValues()))
		s.say(ldapMessage(s.id, ldapDone(0, "")))
	},
	"one giant value": func(s search) {
		s.say(ldapMessage(s.id, ldapEntry("o=glue", ldapAttr("GLUE2ShareID", strings.Repeat("x", 3<<20)))), ldapMessage(s.id, ldapDone(0, "")))
	},
	"a giant message":  func(s search) { s.say([]byte{0x30, 0x84, 0x7f, 0xff, 0xff, 0xff}); s.pour([]byte("x"), 1<<40) },
	"giant words":      func(s search) { s.say(ldapMessage(s.id, giantWords())) },
	"giant words, cut": func(s search) { s.say(ldapMessage(s.id, ldapDone(4, strings.Repeat("\x01", 3<<20)))) },
	"always cut": func(s search) {
		s.pour(ldapMessage(s.id, ldapEntry("")), 1<<20)
		s.say(ldapMessage(s.id, ldapDone(11, "less")))
	},
	"pages without end": func(s search) {
		if !s.paged {
			s.say(ldapMessage(s.id, ldapDone(4, "")))
			return
		}
		s.say(ldapMessage(s.id, ldapDone(0, ""), cookie("again")))
	},
	"giant cookies": func(s search) {
		if !s.paged {
			s.say(ldapMessage(s.id, ldapDone(4, "")))
			return
		}
		s.say(ldapMessage(s.id, ldapDone(0, ""), cookie(strings.Repeat("x", 3<<20))))
	},
	"referrals": func(s search) {
		s.pour(ldapMessage(s.id, tlv(0x73, tlv(0x04, []byte("ldap://127.0.0.1:1/o=glue")))), 1<<40)
	},
	"referred elsewhere": func(s search) { s.say(ldapMessage(s.id, ldapDone(10, "ldap://127.0.0.1:1/"))) },
	"out of order":       func(s search) { s.say(ldapMessage(s.id+1000, ldapDone(0, ""))) },
	"done twice":         func(s search) { s.say(ldapMessage(s.id, ldapDone(0, "")), ldapMessage(s.id, ldapDone(0, ""))) },
	"goodbye": func(s search) {
		s.say(ldapMessage(0, tlv(0x78, tlv(0x0a, []byte{52}), tlv(0x04), tlv(0x04, []byte(strings.Repeat("bye ", 1<<19))))))
	},
	"controls": func(s search) {
		s.say(ldapMessage(s.id, ldapDone(0, ""), tlv(0xa0, bytes.Repeat([]byte{0x30, 0}, 1<<20))))
	},
	"indefinite length": func(s search) { s.say([]byte{0x30, 0x80}); s.pour([]byte{0}, 1<<40) },
	"no LDAP":           func(s search) { s.say([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")); s.conn.Close() },
	"much, then cut": func(s search) {
		for i := range 4000 {
			there := s.say(ldapMessage(s.id, ldapEntry(fmt.Sprint("GLUE2ShareID=", i, ",o=glue"), ldapAttr("objectClass", "GLUE2ComputingShare"), ldapAttr("GLUE2ShareID", strings.Repeat("x", 15<<10)+fmt.Sprint(i)))))
			if !there {
				return
			}
		}
		s.say(ldapMessage(s.id, ldapDone(4, "")))
	},
	"hangs up": func(s search) { s.conn.Close() },
}

// TestRogueLDAP: whatever a directory answers, it costs no more than was said,
// is named, and keeps no other source back.
func TestRogueLDAP(t *testing.T) {
	testbed.Measures(t)
	for name, answer := range rogueDirectories {
		t.Run(name, func(t *testing.T) {
			addr := rogueLDAP(t, func(s search) {
				if s.base == "" {
					s.say(ldapMessage(s.id, ldapEntry("", ldapAttr("namingContexts", "o=grid", "o=glue"))), ldapMessage(s.id, ldapDone(0, "")))
					return
				}
				answer(s)
			})
			v := newVictim(t)
			h := v.grid(0, "resources", "--no-cache", "--deadline", "90s", "--info", "ldap://"+addr, "--info", v.well())
			memory := int64(harmMemory)
			if name == "shares without end" { // as many as a source without computing elements may have, merged with another's
				memory = 2 * harmMemory
			}
			v.boundedBy(h, addr, memory)
			if !strings.Contains(h.out, "well.example.org") {
				t.Errorf("the other source is not there:\n%.2000s", h.out)
			}
		})
	}
}

// TestRogueRoots: nor does what it says of its trees, nor of StartTLS.
func TestRogueRoots(t *testing.T) {
	testbed.Measures(t)
	trees := func(size, n int) []byte {
		values := make([]string, n)
		for i := range values {
			values[i] = fmt.Sprintf("o=%s%d", strings.Repeat("x", size), i)
		}
		return ldapEntry("", ldapAttr("namingContexts", values...))
	}
	for name, c := range map[string]struct {
		scheme string
		answer func(search)
	}{
		"a giant tree": {"ldap", func(s search) { s.say(ldapMessage(s.id, trees(3<<20, 1)), ldapMessage(s.id, ldapDone(0, ""))) }},
		"many trees": {"ldap", func(s search) {
			s.pour(ldapMessage(s.id, trees(10, 10_000)), 150<<20)
			s.say(ldapMessage(s.id, ldapDone(0, "")))
		}},
		"no word":         {"ldap", func(search) { time.Sleep(time.Minute) }},
		"silent StartTLS": {"ldap+starttls", func(search) { time.Sleep(time.Minute) }},
		"StartTLS that goes on in the clear": {"ldap+starttls", func(s search) {
			s.say(ldapMessage(s.id, tlv(0x78, tlv(0x0a, []byte{0}), tlv(0x04), tlv(0x04))), ldapMessage(s.id, trees(1, 1)))
		}},
		"StartTLS refused in giant words": {"ldap+starttls", func(s search) {
			s.say(ldapMessage(s.id, tlv(0x78, tlv(0x0a, []byte{2}), tlv(0x04), tlv(0x04, []byte(strings.Repeat("no\n", 1<<20))))))
		}},
		"StartTLS and no TLS": {"ldap+starttls", func(s search) {
			s.say(ldapMessage(s.id, tlv(0x78, tlv(0x0a, []byte{0}), tlv(0x04), tlv(0x04))))
			time.Sleep(50 * time.Millisecond)
			s.pour([]byte("no TLS"), 1<<40)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			addr := rogueLDAP(t, c.answer)
			v := newVictim(t)
			args := []string{"resources", "--no-cache", "--deadline", "3s", "--info", c.scheme + "://" + addr, "--info", v.well()}
			h := v.grid(0, args...)
			v.bounded(h, addr)
			if !strings.Contains(h.out, "well.example.org") {
				t.Errorf("the other source is not there:\n%.2000s", h.out)
			}
			if strings.Contains(name, "no word") {
				v.interrupted(args...)
			}
		})
	}
}
