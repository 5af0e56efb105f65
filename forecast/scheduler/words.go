package scheduler

import "strings"

// mostSaid bounds what is kept of a text of a site's, in bytes.
const mostSaid = 4 << 10

// plain is what a site has said as every database can hold it: PostgreSQL has no text with a zero in it, nor one that
// is no UTF-8, and what one site said would keep all that is written with it from being written.
func plain(said string) string {
	if len(said) > mostSaid {
		said = said[:mostSaid]
	}
	return strings.ReplaceAll(strings.ToValidUTF8(said, "\ufffd"), "\x00", "\ufffd")
}
