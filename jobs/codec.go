package jobs

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	fastjson "github.com/go-json-experiment/json"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// encode writes a record as it is stored, and its checksum.
func encode(r *Record) (body []byte, sum string, err error) {
	body, err = json.Marshal(r)
	if err != nil {
		return nil, "", err
	}
	return body, checksum(body), nil
}

// checksum is half of a record's SHA-256: it is to find accidents, not fraud.
func checksum(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:16])
}

var errChecksum = errors.New("its checksum is wrong")

// decode reads a stored record. Records of older versions have no checksum. It
// reads with what is to become the standard library's own decoder, set to the rules
// of encoding/json, which takes a third less processor time. Unlike encoding/json it
// reads the text once: of a text that is wrong at its end, the beginning is in r.
func decode(body []byte, sum string, r *Record) error {
	if sum != "" && sum != checksum(body) {
		return errChecksum
	}
	return fastjson.Unmarshal(body, r, jsonv1.DefaultOptionsV1(), jsonv1.ReportErrorsWithLegacySemantics(false))
}

// decodeRow is decode of the record with an id.
func decodeRow(id string, body []byte, sum string, r *Record) error {
	err := decode(body, sum, r)
	if err == nil && r.ID != id {
		err = fmt.Errorf("it is the record of job %.40q", r.ID)
	}
	return err
}

// damage collects records that cannot be read.
type damage struct{ found *DamagedError }

func (d *damage) add(id string, err error) {
	if d.found == nil {
		d.found = &DamagedError{Err: err}
	}
	d.found.IDs = append(d.found.IDs, id)
}

// join adds what another reading has found.
func (d *damage) join(e *DamagedError) {
	if d.found == nil {
		d.found = &DamagedError{Err: e.Err}
	}
	d.found.IDs = append(d.found.IDs, e.IDs...)
}

func (d *damage) err() error {
	if d.found == nil {
		return nil
	}
	return d.found
}
