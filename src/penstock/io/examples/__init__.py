"""tf.train.Example and SequenceExample: parsed from a block's bytes into columns, and serialised."""
