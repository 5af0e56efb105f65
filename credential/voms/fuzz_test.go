package voms

import (
	"strings"
	"testing"
)

func FuzzVomses(f *testing.F) {
	f.Add("\"vo\" \"host\" \"15000\" \"/DC=org/CN=h\" \"vo\" \"24\"\n# c\nvo h 1 '/CN=a b' vo")
	f.Fuzz(func(t *testing.T, text string) {
		servers, err := parseVomses("f", strings.NewReader(text))
		for _, s := range servers {
			if s.Port < 1 || s.Port > 65535 {
				t.Errorf("port %d, %v", s.Port, err)
			}
		}
	})
}

func FuzzLSC(f *testing.F) {
	f.Add("/CN=a\n/CN=b\n------ NEXT CHAIN ------\n/CN=c\n/CN=d\n")
	f.Fuzz(func(t *testing.T, text string) {
		lsc, err := parseLSC("f", strings.NewReader(text))
		if err == nil && len(lsc[0]) < 2 {
			t.Error("a chain too short")
		}
	})
}

func FuzzAC(f *testing.F) {
	f.Add(sample(f))
	f.Add([]byte{0x30, 0x03, 0x02, 0x01, 0x01})
	f.Fuzz(func(_ *testing.T, der []byte) {
		_, _ = parseSequence(der)
		_, _ = Parse(der)
		_ = DN(der)
	})
}

func FuzzReply(f *testing.F) {
	f.Add([]byte(`<?xml version="1.0" encoding = "US-ASCII"?><vomsans><error><item><number>1001</number><message>no</message></item></error></vomsans>`))
	f.Add([]byte(`<voms><ac>MAA=</ac><warning><code>c</code><message>m</message></warning></voms>`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if a, err := parseReply(body, "200 OK"); (a == nil) == (err == nil) {
			t.Error("neither answer nor error")
		}
	})
}
