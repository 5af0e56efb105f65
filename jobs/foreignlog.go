package jobs

import (
	"encoding/binary"
	"errors"
	"os"
)

// errForeignLog is that what would be written over the records as soon as they were opened is not theirs.
var errForeignLog = errors.New("the write-ahead log beside it (-wal) is that of another database")

// foreignLog tells whether the write-ahead log beside a file is one of another database: SQLite, which takes any, would
// write it over the file. The first page, which a log of another has, says of which version the records are: a
// version of ours never goes down.
func foreignLog(path string) bool {
	own, err := os.Open(path)
	if err != nil {
		return false
	}
	defer own.Close()
	log, err := os.Open(path + "-wal")
	if err != nil {
		return false
	}
	defer log.Close()
	page, head := make([]byte, 100), make([]byte, 32)
	if _, err := own.ReadAt(page, 0); err != nil {
		return false // there is nothing that could be lost
	}
	if _, err := log.ReadAt(head, 0); err != nil {
		return false
	}
	size := int64(binary.BigEndian.Uint32(head[8:]))
	if magic := binary.BigEndian.Uint32(head) &^ 1; magic != 0x377f0682 || size < 512 || size > 1<<16 {
		return false // SQLite takes it for none, too
	}
	frame := make([]byte, 24+100)
	for at := int64(32); ; at += 24 + size {
		if _, err := log.ReadAt(frame, at); err != nil || string(frame[8:16]) != string(head[16:24]) { // the rest is of before
			return false
		}
		if binary.BigEndian.Uint32(frame) == 1 {
			return version(frame[24:]) < version(page)
		}
	}
}

// version is the user_version on a database's first page.
func version(page []byte) uint32 { return binary.BigEndian.Uint32(page[60:]) }
