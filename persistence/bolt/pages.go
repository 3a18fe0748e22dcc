package bolt

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"

	"github.com/holdfast-dev/holdfast/persistence"
)

// This file reads bbolt's own structure, with ordinary reads, to find out before
// bbolt does that a file is damaged: bbolt panics on such files, on goroutines of
// its own, and faults on a file that is shorter than its header says.
//
// bbolt writes its structures in the machine's byte order. A page begins with id
// (8), flags (2), count (2), overflow (4): the number of further pages that belong
// to it. Pages 0 and 1 hold the two headers, which are written in turn.

const (
	pageHeader  = 16
	elementSize = 16 // in leaf and branch pages

	branchPage = 0x01
	leafPage   = 0x02

	bucketElement = 0x01

	bboltMagic   = 0xED0CDAED
	bboltVersion = 2

	maxDepth = 64 // of a tree; bbolt's have less than ten
)

var order = binary.NativeEndian

// A header is what bbolt knows of its file: the newer of the two that are valid.
type header struct {
	pageSize int64
	root     uint64 // page of the root bucket
	pages    uint64 // number of pages in use
	txid     uint64
}

// readHeader says what kind of file f is. Its errors are sentences about f.
func readHeader(f io.ReaderAt, size int64) (header, error) {
	switch {
	case size == 0:
		return header{}, errors.New("it is empty (0 bytes); if there never was a journal, remove it to begin a new one")
	case size < 1024:
		return header{}, fmt.Errorf("it has %d bytes, which is less than any journal", size)
	}
	var newest header
	first, err := headerAt(f, 0)
	if err == nil {
		newest = first
	}
	// The second header is one page in, and only the first one could say how far that is.
	for at := int64(1024); at <= 64<<10 && at < size; at *= 2 {
		if second, err2 := headerAt(f, at); err2 == nil && second.pageSize == at && second.txid >= newest.txid {
			newest = second
		}
	}
	if newest.pageSize == 0 {
		return header{}, err
	}
	if want := int64(newest.pages) * newest.pageSize; size < want {
		return header{}, fmt.Errorf("%w: it is truncated: it has %d bytes and its header says %d", persistence.ErrCorrupt, size, want)
	}
	return newest, nil
}

func headerAt(f io.ReaderAt, at int64) (header, error) {
	b := make([]byte, pageHeader+64)
	if _, err := f.ReadAt(b, at); err != nil {
		return header{}, fmt.Errorf("its header cannot be read: %w", err)
	}
	b = b[pageHeader:]
	if magic := order.Uint32(b); magic != bboltMagic {
		return header{}, fmt.Errorf("it is not a journal: it begins with %08x instead of %08x", magic, uint32(bboltMagic))
	}
	if v := order.Uint32(b[4:]); v != bboltVersion {
		return header{}, fmt.Errorf("it is a bbolt file of version %d; this program knows version %d", v, bboltVersion)
	}
	h := fnv.New64a()
	_, _ = h.Write(b[:56])
	if h.Sum64() != order.Uint64(b[56:]) {
		return header{}, fmt.Errorf("%w: both of its headers are damaged", persistence.ErrCorrupt)
	}
	return header{
		pageSize: int64(order.Uint32(b[8:])), root: order.Uint64(b[16:]),
		pages: order.Uint64(b[40:]), txid: order.Uint64(b[48:]),
	}, nil
}

// A walker looks at each page of a tree once.
type walker struct {
	file     io.ReaderAt
	pageSize int64
	pages    uint64
	seen     []uint64 // bit set of pages
	buffers  [maxDepth][]byte
}

// walkPages verifies all pages that can be reached from the root bucket. It stops at the
// first fault, which wraps ErrCorrupt, or at the first page that cannot be read.
func walkPages(file io.ReaderAt, h header) error {
	w := &walker{file: file, pageSize: h.pageSize, pages: h.pages, seen: make([]uint64, h.pages/64+1)}
	w.seen[0] = 3 // the two headers
	return w.walk(h.root, 0, nil, nil)
}

// walk verifies the page id and all below it. Its keys are not below least and,
// if it is not nil, below limit.
func (w *walker) walk(id uint64, depth int, least, limit []byte) error {
	if depth == maxDepth {
		return damaged(id, "is %d levels below the root", depth)
	}
	page, err := w.read(id, depth)
	if err != nil {
		return err
	}
	switch flags := order.Uint16(page[8:]); flags {
	case leafPage:
		return w.leaf(id, page, depth, least, limit)
	case branchPage:
		return w.branch(id, page, depth, least, limit)
	default:
		return damaged(id, "has type %#x, neither branch nor leaf", flags)
	}
}

// read returns the page with its overflow. The bytes are valid until the next read at that depth.
func (w *walker) read(id uint64, depth int) ([]byte, error) {
	if id < 2 || id >= w.pages {
		return nil, damaged(id, "is outside of the %d pages in use", w.pages)
	}
	var start [pageHeader]byte
	if _, err := w.file.ReadAt(start[:], int64(id)*w.pageSize); err != nil {
		return nil, fmt.Errorf("page %d cannot be read: %w", id, err)
	}
	if own := order.Uint64(start[:]); own != id {
		return nil, damaged(id, "says that it is page %d", own)
	}
	overflow := uint64(order.Uint32(start[12:]))
	if overflow >= w.pages-id {
		return nil, damaged(id, "goes on for %d pages, beyond the end", overflow)
	}
	for p := id; p <= id+overflow; p++ {
		if w.seen[p/64]&(1<<(p%64)) != 0 {
			return nil, damaged(p, "is used twice")
		}
		w.seen[p/64] |= 1 << (p % 64)
	}
	n := int(int64(overflow+1) * w.pageSize)
	if cap(w.buffers[depth]) < n {
		w.buffers[depth] = make([]byte, n)
	}
	page := w.buffers[depth][:n]
	if _, err := w.file.ReadAt(page, int64(id)*w.pageSize); err != nil {
		return nil, fmt.Errorf("page %d cannot be read: %w", id, err)
	}
	return page, nil
}

func (w *walker) leaf(id uint64, page []byte, depth int, least, limit []byte) error {
	for i := range int(order.Uint16(page[10:])) {
		at, e, err := element(id, page, i)
		if err != nil {
			return err
		}
		flags, pos, keyLen, valueLen := order.Uint32(e), order.Uint32(e[4:]), order.Uint32(e[8:]), order.Uint32(e[12:])
		key, err := within(id, page, i, at, pos, keyLen)
		if err != nil {
			return err
		}
		value, err := within(id, page, i, at, uint64(pos)+uint64(keyLen), valueLen)
		if err != nil {
			return err
		}
		if err := inOrder(id, i, key, least, limit); err != nil {
			return err
		}
		least = key
		if flags&bucketElement == 0 {
			continue
		}
		if err := w.bucket(id, i, value, depth); err != nil {
			return err
		}
	}
	return nil
}

// bucket verifies the bucket that element i of page id contains: root page (8) and
// sequence (8), followed by a page if the root is 0.
func (w *walker) bucket(id uint64, i int, value []byte, depth int) error {
	if len(value) < 16 {
		return damaged(id, "element %d: a bucket of %d bytes", i, len(value))
	}
	if root := order.Uint64(value); root != 0 {
		return w.walk(root, depth+1, nil, nil)
	}
	inline := value[16:]
	if len(inline) < pageHeader || order.Uint16(inline[8:]) != leafPage {
		return damaged(id, "element %d: a bucket without a page", i)
	}
	return w.leaf(id, inline, depth, nil, nil)
}

func (w *walker) branch(id uint64, page []byte, depth int, least, limit []byte) error {
	count := int(order.Uint16(page[10:]))
	if count == 0 {
		return damaged(id, "is a branch without children")
	}
	keys := make([][]byte, count, count+1)
	children := make([]uint64, count)
	for i := range count {
		at, e, err := element(id, page, i)
		if err != nil {
			return err
		}
		if keys[i], err = within(id, page, i, at, order.Uint32(e), order.Uint32(e[4:])); err != nil {
			return err
		}
		if err := inOrder(id, i, keys[i], least, limit); err != nil {
			return err
		}
		least, children[i] = keys[i], order.Uint64(e[8:])
	}
	keys = append(keys, limit)
	for i, child := range children {
		if err := w.walk(child, depth+1, keys[i], keys[i+1]); err != nil {
			return err
		}
	}
	return nil
}

// element returns the place and the bytes of element i.
func element(id uint64, page []byte, i int) (int, []byte, error) {
	at := pageHeader + i*elementSize
	if at+elementSize > len(page) {
		return 0, nil, damaged(id, "element %d is beyond the page", i)
	}
	return at, page[at : at+elementSize], nil
}

// within returns n bytes from pos on, as counted from the element at at.
func within[P uint32 | uint64](id uint64, page []byte, i, at int, pos P, n uint32) ([]byte, error) {
	from := uint64(at) + uint64(pos)
	if from+uint64(n) > uint64(len(page)) {
		return nil, damaged(id, "element %d: its data is beyond the page", i)
	}
	return page[from : from+uint64(n)], nil
}

func inOrder(id uint64, i int, key, least, limit []byte) error {
	if c := bytes.Compare(key, least); c < 0 || c == 0 && i > 0 {
		return damaged(id, "element %d: its key is out of order", i)
	}
	if limit != nil && bytes.Compare(key, limit) >= 0 {
		return damaged(id, "element %d: its key belongs to the next page", i)
	}
	return nil
}

func damaged(page uint64, format string, args ...any) error {
	return fmt.Errorf("%w: page %d %s", persistence.ErrCorrupt, page, fmt.Sprintf(format, args...))
}
