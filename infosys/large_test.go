package infosys

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"gridbroker/testdata/testbed"
)

// A grid larger than any that there is, which says more through one connection
// than one that means ill may, is read whole: what is kept is bounded, and what
// brings nothing.
func TestLargeGrid(t *testing.T) {
	testbed.Computes(t)
	const ces, shares = 3_000, 84_000                        // 28 a service
	filler := attribute("Remark", strings.Repeat("x", 2400)) // of no use
	var size atomic.Int64
	addr := testbed.Listen(t, func(conn net.Conn) {
		for {
			q, err := readRequest(conn)
			if err != nil {
				return
			}
			var out []byte
			for i := range map[string]int{"GLUE2ComputingService": ces, "GLUE2ComputingShare": shares}[q.class] {
				service := fmt.Sprint("urn:service:", i%ces)
				entry := element(0x64, element(0x04, []byte("GLUE2ServiceID="+service+",o=glue")), element(0x30, attribute("GLUE2ServiceID", service)))
				if q.class == "GLUE2ComputingShare" {
					entry = element(0x64, element(0x04, fmt.Append(nil, "GLUE2ShareID=", i, ",o=glue")), element(0x30,
						attribute("GLUE2ShareServiceForeignKey", service), filler))
				}
				out = append(out, element(0x30, element(0x02, []byte{byte(q.id)}), entry)...)
			}
			size.Add(int64(len(out)))
			if _, err := conn.Write(append(out, ldapMessage(q.id, ldapResult(5, 0, ""))...)); err != nil {
				return
			}
		}
	})
	rs, err := ldapSource(t, "ldap://"+addr+"/o=glue").Resources(t.Context())
	if err != nil || len(rs) != shares || size.Load() < 195<<20 {
		t.Errorf("%d of %d shares in %d MB: %v", len(rs), shares, size.Load()>>20, err)
	}
}

// element is one of BER.
func element(tag byte, parts ...[]byte) []byte {
	body := bytes.Join(parts, nil)
	return append(binary.BigEndian.AppendUint32([]byte{tag, 0x84}, uint32(len(body))), body...)
}

func attribute(name, value string) []byte {
	return element(0x30, element(0x04, []byte(name)), element(0x31, element(0x04, []byte(value))))
}
