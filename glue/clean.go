package glue

import (
	"bytes"
	"strings"
)

// notNames are what information providers print where a name should stand.
var notNames = map[string]bool{
	"not defined": true, "undefined": true, "undefinedvalue": true, "unknown": true, "n/a": true, "none": true, "null": true, "unset": true,
}

// word decodes a name; "" where the provider had none: "UNDEFINEDVALUE", or
// "GlueCEInfoLRMSVersion: not defined", its own complaint.
func (d *Decoder) word(v []byte) string {
	v = trimSpace(v)
	said := v
	if _, rest, ok := cutByte(v, ':'); ok {
		said = trimSpace(rest)
	}
	if len(said) <= 16 && notNames[strings.ToLower(string(said))] {
		return ""
	}
	return d.pool.str(v)
}

// queue decodes a queue's name. Some templates begin it with a slash.
func (d *Decoder) queue(v []byte) string {
	return d.pool.str(bytes.Trim(trimSpace(v), "/"))
}

// host decodes a host name: "https://CE.site.org:8443/" is ce.site.org.
func (d *Decoder) host(v []byte) string {
	return d.pool.str([]byte(hostIn(string(v))))
}

// hostIn is the host name in a text that should be nothing else but may have
// a scheme before it, a port or a path behind it, or stand in a urn.
func hostIn(s string) string {
	s = strings.TrimSpace(s)
	if len(s) >= 4 && strings.EqualFold(s[:4], "urn:") {
		return hostInURN(s[4:])
	}
	if _, rest, ok := strings.Cut(s, "://"); ok {
		s = rest
	}
	if end := strings.IndexAny(s, "/: "); end >= 0 {
		s = s[:end]
	}
	return hostName(strings.TrimSuffix(s, "."))
}

// maxHost is the longest name of a host (RFC 1035 section 2.3.4).
const maxHost = 253

// hostName is the name of a host, in lower case; "" where it is longer than any.
func hostName(s string) string {
	if len(s) > maxHost {
		return ""
	}
	return strings.ToLower(s)
}

// hostInURN is the first part of a urn that looks like a host name, "" if none
// does: ogf:ComputingService:ce.site.org:arex.
func hostInURN(urn string) string {
	for part := range strings.SplitSeq(urn, ":") {
		if strings.Contains(part, ".") && !strings.ContainsAny(part, " /") {
			return hostName(part)
		}
	}
	return ""
}

// lastOfURN is what a urn names in its last part; other texts as they are.
func lastOfURN(s string) string {
	if len(s) < 4 || !strings.EqualFold(s[:4], "urn:") {
		return s
	}
	return s[strings.LastIndexByte(s, ':')+1:]
}
