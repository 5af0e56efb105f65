package cli_test

import (
	"net"
	"os"
	"strings"

	ber "github.com/go-asn1-ber/asn1-ber"
	"github.com/go-ldap/ldap/v3"
	"github.com/rogpeppe/go-internal/testscript"

	"gridbroker/glue"
)

// rogue starts a server that means ill, for as long as the script runs, and
// puts its address in a variable:
//
//	rogue ldap FILE VAR    answers every search with an LDIF file
//	rogue say FILE VAR     refuses every search with the text of FILE
//	rogue trap FILE VAR    makes FILE when somebody connects
func rogue(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: rogue ldap|say|trap FILE VAR")
	}
	file := ts.MkAbs(args[1])
	serve := map[string]func(net.Conn){
		"ldap": func(conn net.Conn) { answerLDIF(conn, file) },
		"say":  func(conn net.Conn) { refuseWith(conn, file) },
		"trap": func(net.Conn) { os.WriteFile(file, []byte("somebody came"), 0o600) },
	}[args[0]]
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if serve == nil || err != nil {
		ts.Fatalf("rogue %s: %v", args[0], err)
	}
	ts.Defer(func() { l.Close() })
	ts.Setenv(args[2], l.Addr().String())
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() { defer conn.Close(); serve(conn) }()
		}
	}()
}

// fill puts the values of variables into files: "fill FILE...".
func fill(ts *testscript.TestScript, neg bool, args []string) {
	for _, name := range args {
		file := ts.MkAbs(name)
		text, err := os.ReadFile(file)
		if err == nil {
			err = os.WriteFile(file, []byte(os.Expand(string(text), ts.Getenv)), 0o600)
		}
		if err != nil || neg {
			ts.Fatalf("fill %s: %v", name, err)
		}
	}
}

// answerLDIF answers every search below o=glue with all entries of a file.
func answerLDIF(conn net.Conn, file string) {
	for {
		p, err := ber.ReadPacket(conn)
		if err != nil {
			return
		}
		id, _ := p.Children[0].Value.(int64)
		if base, _ := p.Children[1].Children[0].Value.(string); strings.Contains(base, "glue") {
			if f, err := os.Open(file); err == nil {
				_ = glue.ReadLDIF(f, file, func(e *glue.Entry) { conn.Write(message(id, searchEntry(e))) })
				f.Close()
			}
		}
		if _, err := conn.Write(message(id, searchDone(ldap.LDAPResultSuccess, ""))); err != nil {
			return
		}
	}
}

// refuseWith refuses every search with the words of a file.
func refuseWith(conn net.Conn, file string) {
	words, err := os.ReadFile(file)
	for err == nil {
		var p *ber.Packet
		if p, err = ber.ReadPacket(conn); err == nil {
			id, _ := p.Children[0].Value.(int64)
			_, err = conn.Write(message(id, searchDone(ldap.LDAPResultOperationsError, string(words))))
		}
	}
}

func searchDone(code int64, words string) *ber.Packet {
	done := ber.Encode(ber.ClassApplication, ber.TypeConstructed, ldap.ApplicationSearchResultDone, nil, "")
	done.AppendChild(ber.NewInteger(ber.ClassUniversal, ber.TypePrimitive, ber.TagEnumerated, code, ""))
	done.AppendChild(octets(""))
	done.AppendChild(octets(words))
	return done
}

func octets(s string) *ber.Packet {
	return ber.NewString(ber.ClassUniversal, ber.TypePrimitive, ber.TagOctetString, s, "")
}

func message(id int64, op *ber.Packet) []byte {
	msg := ber.NewSequence("")
	msg.AppendChild(ber.NewInteger(ber.ClassUniversal, ber.TypePrimitive, ber.TagInteger, id, ""))
	msg.AppendChild(op)
	return msg.Bytes()
}

func searchEntry(e *glue.Entry) *ber.Packet {
	op := ber.Encode(ber.ClassApplication, ber.TypeConstructed, ldap.ApplicationSearchResultEntry, nil, "")
	op.AppendChild(octets(string(e.DN)))
	list := ber.NewSequence("")
	for _, a := range e.Attrs {
		attr := ber.NewSequence("")
		attr.AppendChild(octets(string(a.Name)))
		set := ber.Encode(ber.ClassUniversal, ber.TypeConstructed, ber.TagSet, nil, "")
		for _, v := range a.Values {
			set.AppendChild(octets(string(v)))
		}
		attr.AppendChild(set)
		list.AppendChild(attr)
	}
	op.AppendChild(list)
	return op
}
