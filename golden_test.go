package ax_test

import "github.com/axsched/ax"

// What follows was once computed and is in stores since: where a key lives, and what a submission's content hash is. Never
// change it to make a test pass.

var partitionGolden = [8]ax.Partition{1, 0, 9, 14, 8, 1, 2542, 33}

var hashGolden = [21]uint64{
	0xd74a97c43afa1bd4, 0x56956bdc0b12a3e0, 0xeb5e177eed4971ff, 0xd74a97c43afa1bd4,
	0xce055e4cf0845794, 0xd54a97c4d71c1bd3, 0xd64a97c4ccaf1bd3, 0xd73897c43954b1d4,
	0xd71997c43897dcd4, 0xd74a98c43afa6167, 0xd74a9bc43afa7298, 0xd74a99c43afa6732,
	0x1ed06bba4e41af8d, 0xfb5d8547b0623aac, 0x1b3a076b647160a8, 0x56a6a776a2ca6b63,
	0x80b53129fbf91854, 0x4132451f3fc24385, 0xf5f5e060a024234a, 0x9600c8b0e81e6c31,
	0x74e793ed8de0fee2,
}
