"""The pure model: ids, times, intervals, hashing, the Merkle trie, events, codec and errors."""
