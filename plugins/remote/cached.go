package remote

import (
	"fmt"
	"net/url"
	"strings"
)

// streamPrefix begins the names of variables of a job that hold the address of
// a file which the program reads in place, by ranges.
const streamPrefix = "GRID_STREAM_"

// Streamed returns the value that a job's variable has here: the address of a
// file that is read in place goes through the site's read-ahead cache, if it
// has one. Others, and addresses of another kind, stay as they are.
func Streamed(cache, name, value string) string {
	if cache == "" || !strings.HasPrefix(name, streamPrefix) {
		return value
	}
	u, err := url.Parse(value)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return value
	}
	return strings.TrimSuffix(cache, "/") + "/file?url=" + url.QueryEscape(value)
}

// CheckCache finds addresses that are no read-ahead cache's.
func CheckCache(address string) error {
	if address == "" {
		return nil
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("cache = %q: want http://HOST:PORT of grid cache serve", address)
	}
	return nil
}
